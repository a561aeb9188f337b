// CUB's allocator; the device's own keeps what is freed for the next who asks.
#pragma once

#include "morph/cuda.h"

namespace cub {

struct CachingDeviceAllocator {
  static constexpr int INVALID_DEVICE_ORDINAL = -1;

  explicit CachingDeviceAllocator(bool = false, bool = false) {}
  explicit CachingDeviceAllocator(unsigned, unsigned = 1, unsigned = 0, size_t = 0, bool = false, bool = false) {}

  cudaError_t DeviceAllocate(void** pointer, size_t bytes, cudaStream_t stream = nullptr) {
    return cudaMallocAsync(pointer, bytes, stream);
  }
  cudaError_t DeviceAllocate(int device, void** pointer, size_t bytes, cudaStream_t stream = nullptr) {
    return on(device, [&] { return DeviceAllocate(pointer, bytes, stream); });
  }
  cudaError_t DeviceFree(void* pointer) { return cudaFree(pointer); }
  cudaError_t DeviceFree(int device, void* pointer) {
    return on(device, [&] { return DeviceFree(pointer); });
  }
  cudaError_t FreeAllCached() { return cudaSuccess; }
  cudaError_t SetMaxCachedBytes(size_t) { return cudaSuccess; }

 private:
  template <class F>
  static cudaError_t on(int device, F work) {
    int before = 0;
    cudaGetDevice(&before);
    if (device != INVALID_DEVICE_ORDINAL)
      if (cudaError_t error = cudaSetDevice(device)) return error;
    cudaError_t error = work();
    return cudaSetDevice(before), error;
  }
};

}  // namespace cub
