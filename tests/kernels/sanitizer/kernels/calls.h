// Each kernel twice: WRONG has the error that its name says, RIGHT is the same without it.
#include <cuda_runtime.h>

#include <exception>
#include <string>

inline const char* outcome(void (*launch)(float*, const float*, int), float* a, const float* b, int n) {
  static std::string text;
  try {
    launch(a, b, n);
    text = "";
  } catch (const std::exception& error) {
    text = error.what();
  }
  return text.c_str();
}

#define KERNEL(NAME, GRID, BLOCK, SHARED, ...)                                                          \
  static __global__ void NAME##_kernel(float* a, const float* b, int n) __VA_ARGS__                     \
  extern "C" const char* NAME(float* a, const float* b, int n) {                                        \
    auto launch = [](float* x, const float* y, int m) { NAME##_kernel<<<GRID, BLOCK, SHARED>>>(x, y, m); }; \
    return outcome(launch, a, b, n);                                                                    \
  }
#define WRONG(NAME, ...) KERNEL(wrong_##NAME, __VA_ARGS__)
#define RIGHT(NAME, ...) KERNEL(right_##NAME, __VA_ARGS__)
