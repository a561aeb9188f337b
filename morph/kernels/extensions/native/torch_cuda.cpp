// What torch's headers declare for CUDA, and its libraries c10_cuda and torch_cuda define.
#include "device.h"

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <map>
#include <mutex>
#include <ostream>

namespace c10::cuda {
namespace {

using morph_cuda::device;

Device device_of(DeviceIndex index) { return index < 0 ? device().getDevice() : Device(DeviceType::CUDA, index); }
CUDAStream cuda_stream(Stream stream) { return CUDAStream(CUDAStream::UNCHECKED, stream); }

}  // namespace

#if TORCH_VERSION_MINOR >= 11  // earlier headers define them
bool CUDAStream::query() const { return morph_cuda::device().queryStream(stream_); }
void CUDAStream::synchronize() const { morph_cuda::device().synchronizeStream(stream_); }
#endif
cudaStream_t CUDAStream::stream() const { return morph_cuda::handle_of(stream_); }
CUDAStream getStreamFromPool(const bool high, DeviceIndex index) {
  return cuda_stream(device().getStreamFromGlobalPool(device_of(index), high));
}
CUDAStream getStreamFromPool(const int priority, DeviceIndex index) {
  return cuda_stream(device().getNewStream(device_of(index), priority));
}
CUDAStream getStreamFromExternal(cudaStream_t handle, DeviceIndex index) {
  return cuda_stream(Stream(Stream::UNSAFE, device_of(index), reinterpret_cast<StreamId>(handle)));
}
CUDAStream getDefaultCUDAStream(DeviceIndex index) { return cuda_stream(device().getDefaultStream(device_of(index))); }
CUDAStream getCurrentCUDAStream(DeviceIndex index) { return cuda_stream(device().getStream(device_of(index))); }
void setCurrentCUDAStream(CUDAStream stream) { device().exchangeStream(stream.unwrap()); }
std::ostream& operator<<(std::ostream& to, const CUDAStream& stream) { return to << stream.unwrap(); }

DeviceIndex device_count() noexcept { return device().deviceCount(); }
DeviceIndex device_count_ensure_non_zero() {
  TORCH_CHECK(device_count(), "No CUDA GPUs are available");
  return device_count();
}
DeviceIndex current_device() { return device().getDevice().index(); }
void set_device(DeviceIndex index, const bool) { device().setDevice(device_of(index)); }
void device_synchronize() { device().synchronizeDevice(current_device()); }
void warn_or_error_on_sync() {
  TORCH_CHECK(warning_state().get_sync_debug_mode() != SyncDebugMode::L_ERROR, "called a synchronizing CUDA operation");
  TORCH_WARN("called a synchronizing CUDA operation");
}
cudaError_t GetDeviceCount(int* count) { return cudaGetDeviceCount(count); }
cudaError_t GetDevice(DeviceIndex* index) { return *index = current_device(), cudaSuccess; }
cudaError_t SetDevice(DeviceIndex index, const bool) { return cudaSetDevice(index); }
cudaError_t MaybeSetDevice(DeviceIndex index) { return cudaSetDevice(index); }
DeviceIndex ExchangeDevice(DeviceIndex index) { return device().exchangeDevice(device_of(index)).index(); }
DeviceIndex MaybeExchangeDevice(DeviceIndex index) { return ExchangeDevice(index); }
void SetTargetDevice() {}
bool hasPrimaryContext(DeviceIndex) { return true; }
std::optional<DeviceIndex> getDeviceIndexWithPrimaryContext() { return current_device(); }

std::string get_cuda_error_help(cudaError_t) noexcept { return ""; }
const char* get_cuda_check_suffix() noexcept { return ""; }
const char* get_cuda_async_error_suffix(cudaError_t) noexcept { return ""; }
std::mutex* getFreeMutex() {
  static std::mutex mutex;
  return &mutex;
}
void c10_cuda_check_implementation(const int32_t error, const char* file, const char* function, const uint32_t line, const bool) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // what is raised is not left behind
  std::string text = c10::str("CUDA error: ", cudaGetErrorString(cudaError_t(error)));
  throw AcceleratorError({function, file, line}, error, text);
}

namespace CUDACachingAllocator {
namespace {

struct Forwarding final : CUDAAllocator {
  Allocator* own() const { return GetAllocator(DeviceType::CUDA); }
  DataPtr allocate(size_t bytes) override { return own()->allocate(bytes); }
  DeleterFnPtr raw_deleter() const override { return own()->raw_deleter(); }
  void copy_data(void* to, const void* from, size_t bytes) const override { own()->copy_data(to, from, bytes); }
  void* raw_alloc(size_t bytes) override { return bytes ? own()->raw_allocate(bytes) : nullptr; }
  void* raw_alloc_with_stream(size_t bytes, cudaStream_t) override { return raw_alloc(bytes); }
  void raw_delete(void* pointer) override {
    if (pointer) own()->raw_deallocate(pointer);
  }
  void recordStream(const DataPtr& data, CUDAStream stream) override {
    device().recordDataPtrOnStream(data, stream.unwrap());
  }
  void emptyCache() override {}
  bool initialized() override { return true; }
};

}  // namespace

CUDAAllocator* get() {
  static auto* all = new Forwarding;
  return all;
}

}  // namespace CUDACachingAllocator
}  // namespace c10::cuda

namespace at::cuda {

cudaDeviceProp* getDeviceProperties(c10::DeviceIndex index) {
  static std::mutex mutex;
  static auto& all = *new std::map<c10::DeviceIndex, cudaDeviceProp>;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (auto found = all.find(index); found != all.end()) return &found->second;
  }
  cudaDeviceProp properties = morph_cuda::properties_of(index);  // which waits for Python's lock
  std::lock_guard<std::mutex> lock(mutex);
  return &all.emplace(index, properties).first->second;
}
cudaDeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(c10::cuda::current_device()); }
int warp_size() { return 32; }
bool canDeviceAccessPeer(c10::DeviceIndex index, c10::DeviceIndex peer) { return morph_cuda::reaches(index, peer); }
c10::Allocator* getCUDADeviceAllocator() { return c10::GetAllocator(c10::DeviceType::CUDA); }

}  // namespace at::cuda

#include "stable/shim.cpp"
