// What torch's stable interface for C has for CUDA (torch/csrc/stable/c/shim.h, aoti_torch/c/shim.h): 0, or 1 after an error.
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <cstring>

namespace morph_cuda {
namespace {

template <class F>
int32_t done(F work) {
  try {
    work();
    return 0;
  } catch (const std::exception& error) {
    TORCH_WARN(error.what());
    return 1;
  }
}

c10::cuda::CUDAStream external_stream(void* handle, int32_t index) {
  return c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(handle), c10::DeviceIndex(index));
}

}  // namespace
}  // namespace morph_cuda

extern "C" {
int32_t aoti_torch_create_cuda_guard(int32_t index, void** guard) {
  return morph_cuda::done([&] { *guard = new c10::cuda::CUDAGuard(c10::DeviceIndex(index)); });
}
int32_t aoti_torch_delete_cuda_guard(void* guard) {
  return morph_cuda::done([&] { delete static_cast<c10::cuda::CUDAGuard*>(guard); });
}
int32_t aoti_torch_cuda_guard_set_index(void* guard, int32_t index) {
  return morph_cuda::done([&] { static_cast<c10::cuda::CUDAGuard*>(guard)->set_index(c10::DeviceIndex(index)); });
}
int32_t aoti_torch_create_cuda_stream_guard(void* stream, int32_t index, void** guard) {
  return morph_cuda::done([&] { *guard = new c10::cuda::CUDAStreamGuard(morph_cuda::external_stream(stream, index)); });
}
int32_t aoti_torch_delete_cuda_stream_guard(void* guard) {
  return morph_cuda::done([&] { delete static_cast<c10::cuda::CUDAStreamGuard*>(guard); });
}
int32_t aoti_torch_get_current_cuda_stream(int32_t index, void** stream) {
  return morph_cuda::done([&] { *stream = c10::cuda::getCurrentCUDAStream(c10::DeviceIndex(index)).stream(); });
}
int32_t aoti_torch_cuda_caching_allocator_raw_alloc(uint64_t bytes, void** memory) {
  return morph_cuda::done([&] { *memory = c10::cuda::CUDACachingAllocator::get()->raw_alloc(bytes); });
}
int32_t aoti_torch_cuda_caching_allocator_raw_delete(void* memory) {
  return morph_cuda::done([&] { c10::cuda::CUDACachingAllocator::get()->raw_delete(memory); });
}
int32_t torch_get_current_cuda_blas_handle(void** handle) {
  return morph_cuda::done([&] { *handle = at::cuda::getCurrentCUDABlasHandle(); });
}
int32_t torch_set_current_cuda_stream(void* stream, int32_t index) {
  return morph_cuda::done([&] { c10::cuda::setCurrentCUDAStream(morph_cuda::external_stream(stream, index)); });
}
int32_t torch_get_cuda_stream_from_pool(bool high, int32_t index, void** stream) {
  return morph_cuda::done([&] { *stream = c10::cuda::getStreamFromPool(high, c10::DeviceIndex(index)).stream(); });
}
int32_t torch_cuda_stream_synchronize(void* stream, int32_t index) {
  return morph_cuda::done([&] { morph_cuda::external_stream(stream, index).synchronize(); });
}
int32_t torch_c10_cuda_check_msg(int32_t error, const char*, const char*, uint32_t, bool, char** message) {
  *message = nullptr;
  if (error != cudaSuccess) *message = strdup(c10::str("CUDA error: ", cudaGetErrorString(cudaError_t(error))).c_str());
  return 0;
}
void torch_c10_cuda_free_error_msg(char* message) { free(message); }
}
