// What the runtime asks of the software device, by torch's own interfaces alone.
#pragma once

#include "morph/access.h"
#include "morph/runtime.h"

#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <torch/version.h>

#include <cstddef>
#include <string>
#include <utility>

#if TORCH_VERSION_MINOR < 8  // in Python it is a RuntimeError there, as torch's own
namespace c10 {
class AcceleratorError : public Error {
 public:
  AcceleratorError(SourceLocation where, int32_t code, const std::string& text) : Error(where, text), code_(code) {}
  int32_t get_error_code() const { return code_; }

 private:
  int32_t code_;
};
}  // namespace c10
#endif

namespace morph_cuda {

constexpr int kAssert = cudaErrorAssert;

c10::impl::VirtualGuardImpl device();
c10::Stream stream_of(cudaStream_t handle);  // of the current device
cudaStream_t handle_of(c10::Stream stream);
bool is_capturing(c10::Stream stream);        // before torch 2.12 known of the current stream alone
void refuse_in_torchs_capture(cudaStream_t stream);  // a launch that a graph would not hold
void refuse_in_capture(cudaStream_t stream);         // and what a program's own graph would not
// These ask torch.cuda.
cudaDeviceProp properties_of(int device);
std::pair<size_t, size_t> memory_of(int device);  // free and total bytes
bool reaches(int device, int peer);               // whether it can access the other's memory
void* served_function(const char* library, const char* name);  // of a library that morph serves to programs
void* address_of(const char* function);  // what such a function of the device's module returns: "locator"
// The software device's own (morph/software/native/memory/hidden.h).
struct DeviceFunctions {
  void (*begin_access)();
  void (*end_access)();
  bool (*open_page)(const void* address);
  void* (*usable)(const void* pointer);
  void* (*take_managed)(size_t bytes);
  int32_t (*pin)(const void* pointer, size_t bytes);
  int32_t (*unpin)(const void* pointer);
  void (*note_found)(const char* check, const std::string& text);
  void (*mark_unwritten)(void* start, size_t bytes);
  bool (*is_unwritten)(const void* start, size_t bytes);
  void (*take_lines_from)(const char* (*of_program)());
};
const DeviceFunctions& device_functions();
bool protects_memory();  // MORPH_SANITIZE=host, sync
// With MORPH_SANITIZE=host: where what runs on the host, as a copy, uses device memory.
template <class T>
T* usable(T* pointer) { return static_cast<T*>(usable_address(pointer)); }

std::string pending_error();  // what Python has yet to raise; empty if nothing
std::string lines_of(const void* allocation);  // "made at train.py:12"; empty if that is not known

}  // namespace morph_cuda
