// A library of CUDA's: every exported name is a jump through a slot, so that a function is served by whatever is put
// into its slot, in the convention of the C function that it stands for. A slot that nothing was put into refuses.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace library {

struct Name {
  const char* name;
  void** slot;
  const char* refusal;  // what is said of it while nothing serves it
};

// Generated from the library's table.
extern const Name names[];
extern const size_t count;
extern const int not_supported;  // the library's own code for a refusal

int refuse(size_t index);
int refuse_for(const char* reason);
int noted(int code);  // keeps an error of this thread for cudaGetLastError, and returns it
int last_error(bool forget);

// The functions that this library has of its own, by the names that they can serve.
using Functions = std::map<std::string, void*>;
const Functions& own();

template <typename Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace library
