// See pools.h.
#include "morph/pools.h"

#include "errors.h"

#include <cstring>
#include <map>
#include <mutex>

struct CUmemPoolHandle_st {
  int device;
  uint64_t values[cudaMemPoolAttrReleaseThreshold + 1] = {0, 1, 1, 1, 0};  // as a new pool has them
};

namespace morph_cuda {
namespace {

struct Pools {
  std::mutex lock;
  std::map<int, CUmemPoolHandle_st> first;  // of each device
  std::map<int, cudaMemPool_t> current;
};
Pools& pools() {
  static auto& kept = *new Pools;
  return kept;
}

cudaError_t first_pool(cudaMemPool_t* pool, int device) {
  int count = 0;
  if (cudaError_t error = cudaGetDeviceCount(&count)) return error;
  if (!pool || device < 0 || device >= count) return remembered(pool ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  std::lock_guard<std::mutex> guard(pools().lock);
  return *pool = &pools().first.emplace(device, CUmemPoolHandle_st{device}).first->second, cudaSuccess;
}

// Flags have 32 bits, the threshold 64.
size_t bytes_of(cudaMemPoolAttr attribute) { return attribute == cudaMemPoolAttrReleaseThreshold ? 8 : 4; }

cudaError_t why_not(cudaMemPool_t pool, cudaMemPoolAttr attribute, const void* value) {
  if (!pool || !value || attribute < cudaMemPoolReuseFollowEventDependencies) return cudaErrorInvalidValue;
  return attribute > cudaMemPoolAttrReleaseThreshold ? cudaErrorNotSupported : cudaSuccess;
}

}  // namespace
}  // namespace morph_cuda

using namespace morph_cuda;

extern "C" {
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) { return first_pool(pool, device); }
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  if (cudaError_t error = first_pool(pool, device)) return error;
  std::lock_guard<std::mutex> guard(pools().lock);
  auto found = pools().current.find(device);
  if (found != pools().current.end()) *pool = found->second;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  if (!pool || pool->device != device) return remembered(cudaErrorInvalidValue);
  std::lock_guard<std::mutex> guard(pools().lock);
  return pools().current[device] = pool, cudaSuccess;
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* how) {
  bool is_known = pool && how && how->allocType == cudaMemAllocationTypePinned && how->location.type == cudaMemLocationTypeDevice;
  if (!is_known) return remembered(cudaErrorInvalidValue);
  if (how->handleTypes != cudaMemHandleTypeNone) return remembered(cudaErrorNotSupported);
  return *pool = new CUmemPoolHandle_st{how->location.id}, cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  cudaMemPool_t first = nullptr;
  if (!pool || first_pool(&first, pool->device) || pool == first) return remembered(cudaErrorInvalidValue);
  std::lock_guard<std::mutex> guard(pools().lock);
  auto found = pools().current.find(pool->device);
  if (found != pools().current.end() && found->second == pool) pools().current.erase(found);
  return delete pool, cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (cudaError_t error = why_not(pool, attribute, value)) return remembered(error);
  pool->values[attribute] = 0;
  return std::memcpy(&pool->values[attribute], value, bytes_of(attribute)), cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (cudaError_t error = why_not(pool, attribute, value)) return remembered(error);
  return std::memcpy(value, &pool->values[attribute], bytes_of(attribute)), cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return pool ? cudaSuccess : remembered(cudaErrorInvalidValue);
}
cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return pool ? cudaMallocAsync(pointer, bytes, stream) : remembered(cudaErrorInvalidValue);
}
}  // extern "C"
