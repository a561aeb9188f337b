// Calls of CUDA's runtime and libraries, each in two: `right` says whether it is without the error that its name says.
// a and b have n numbers each on the device.
#include <cuda_runtime.h>

#include <exception>
#include <string>

template <class F>
const char* outcome(F work) {
  static std::string text;
  try {
    int status = work();
    text = status ? "status " + std::to_string(status) : "";
  } catch (const std::exception& error) {
    text = error.what();
  }
  return text.c_str();
}

#define TWINS(KIND, NAME, ...) \
  extern "C" const char* NAME(float* a, float* b, int n, int right) { return outcome([&]() -> int __VA_ARGS__); }
#define SYNC(NAME, ...) TWINS(sync, NAME, __VA_ARGS__)      // a stream does not wait for another
#define HOST(NAME, ...) TWINS(host, NAME, __VA_ARGS__)      // the host does not wait for a stream
#define MEMORY(NAME, ...) TWINS(memory, NAME, __VA_ARGS__)  // an access outside

inline cudaStream_t made() {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return stream;
}
inline cudaStream_t one() {
  static cudaStream_t stream = made();
  return stream;
}
inline cudaStream_t other() {
  static cudaStream_t stream = made();
  return stream;
}
inline void other_waits(bool waits) {  // for one
  cudaEvent_t done;
  cudaEventCreate(&done);
  cudaEventRecord(done, one());
  if (waits) cudaStreamWaitEvent(other(), done, 0);
  cudaEventDestroy(done);
}

static __global__ void increase(float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] += 1;
}
inline void increase_on(cudaStream_t stream, float* a, int n) { increase<<<(n + 63) / 64, 64, 0, stream>>>(a, n); }
inline float* pinned(int n) {
  static float* memory = nullptr;
  if (memory) cudaFreeHost(memory);
  cudaMallocHost(&memory, n * sizeof(float));
  for (int i = 0; i < n; i++) memory[i] = 1;
  return memory;
}
