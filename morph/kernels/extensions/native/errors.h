// What an error of a launch or a call becomes: an exception in Python, and in a program of its own what CUDA makes of it.
#pragma once

#include "morph/runtime.h"

#include <exception>

namespace morph_cuda {

cudaError_t remembered(cudaError_t error);  // for cudaGetLastError
bool is_program();                          // a program of its own, not Python's, calls
cudaError_t lasting();                      // the error of a kernel, after which nothing works
void forget_lasting();
cudaError_t told(std::exception_ptr error);  // says it on the standard error, and returns CUDA's number
void hear_python();  // throws what waits to be raised in Python: the host used memory that it must not

template <class F>
cudaError_t reported(F work) {
  if (!is_program()) return work();
  if (lasting()) return lasting();
  try {
    cudaError_t error = work();
    hear_python();
    return error;
  } catch (...) {
    return told(std::current_exception());
  }
}

}  // namespace morph_cuda
