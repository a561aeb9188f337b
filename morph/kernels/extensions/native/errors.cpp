// See errors.h.
#include "errors.h"

#include "device.h"
#include "sanitizer/calls.h"
#include "sanitizer/sites.h"

#include <atomic>
#include <cstdio>
#include <string>
#include <utility>

namespace morph_cuda {
namespace {

bool program = false;
std::atomic<int> lasts{cudaSuccess};
thread_local cudaError_t last = cudaSuccess;

bool leaves_nothing(int error) { return error >= cudaErrorIllegalAddress && error <= cudaErrorLaunchFailure; }

cudaError_t told_as(int number, const char* text) {
  std::fprintf(stderr, "morph: %s\n", text);
  return remembered(cudaError_t(number));
}

}  // namespace

bool is_program() { return program; }
cudaError_t lasting() { return cudaError_t(lasts.load()); }
void forget_lasting() { lasts = cudaSuccess; }

cudaError_t remembered(cudaError_t error) {
  if (error != cudaSuccess) last = error;
  return error;
}

cudaError_t told(std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::AcceleratorError& error) {
    int number = error.get_error_code();
    if (leaves_nothing(number)) lasts = number;
    return told_as(number, error.what_without_backtrace());
  } catch (const c10::OutOfMemoryError& error) {
    return told_as(cudaErrorMemoryAllocation, error.what_without_backtrace());
  } catch (const c10::Error& error) {
    return told_as(cudaErrorLaunchFailure, error.what_without_backtrace());
  } catch (const std::exception& error) {
    return told_as(cudaErrorLaunchFailure, error.what());
  }
}

void hear_python() {
  if (!sanitizer::are_calls_checked()) return;
  std::string found = pending_error();
  TORCH_CHECK(found.empty(), found);
}

}  // namespace morph_cuda

using namespace morph_cuda;

extern "C" {
void morph_begin_program() {
  program = true;
  if (sanitizer::are_calls_checked()) sanitizer::tell_lines_of(__builtin_return_address(0));
}
cudaError_t cudaGetLastError() {
  cudaError_t error = std::exchange(last, cudaSuccess);
  return lasting() ? lasting() : error;
}
cudaError_t cudaPeekAtLastError() { return lasting() ? lasting() : last; }
}
