// In the place of torch's: its allocator's functions, over the software device's allocator.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAMacros.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/version.h>

namespace c10::cuda::CUDACachingAllocator {

class CUDAAllocator : public Allocator {
 public:
  virtual void* raw_alloc(size_t bytes) = 0;
  virtual void* raw_alloc_with_stream(size_t bytes, cudaStream_t stream) = 0;
  virtual void raw_delete(void* pointer) = 0;
  virtual void recordStream(const DataPtr& data, CUDAStream stream) = 0;
  virtual void emptyCache() = 0;
  virtual bool initialized() = 0;
};

C10_CUDA_API CUDAAllocator* get();
inline void* raw_alloc(size_t bytes) { return get()->raw_alloc(bytes); }
inline void* raw_alloc_with_stream(size_t bytes, cudaStream_t stream) { return get()->raw_alloc_with_stream(bytes, stream); }
inline void raw_delete(void* pointer) { get()->raw_delete(pointer); }
inline void recordStream(const DataPtr& data, CUDAStream stream) { get()->recordStream(data, stream); }
inline void emptyCache() { get()->emptyCache(); }

}  // namespace c10::cuda::CUDACachingAllocator

#if TORCH_VERSION_MINOR >= 9  // earlier ones have them here
namespace c10::cuda {
using c10::CaptureId_t;
using c10::MempoolId_t;
}  // namespace c10::cuda
#endif
