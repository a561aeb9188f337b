// The functions of CUDA's runtime library, on the software device: all of its memory is the host's, and work is done
// when a call returns.
#include "morph/launch.h"
#include "morph/runtime.h"

#include "arrays.h"
#include "device.h"
#include "errors.h"
#include "graphs.h"
#include "sanitizer/calls.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

struct CUevent_st {
  void* event = nullptr;
  c10::DeviceIndex device = 0;
  bool recorded = false;
  morph_cuda::graphs::Point captured;
};

namespace morph_cuda {
namespace {

// A call of CUDA's reports an error by its number; torch's interfaces throw.
template <class F>
cudaError_t answered(F call) {
  if (lasting()) return lasting();
  try {
    return remembered(call());
  } catch (const c10::AcceleratorError& error) {
    return remembered(cudaError_t(error.get_error_code()));
  } catch (const c10::OutOfMemoryError&) {
    return remembered(cudaErrorMemoryAllocation);
  } catch (const std::exception&) {
    return remembered(cudaErrorInvalidValue);
  }
}

c10::Allocator* memory() { return c10::GetAllocator(c10::DeviceType::CUDA); }

struct Peers {
  std::mutex mutex;
  std::set<std::pair<int, int>> all;  // whom a device was given access to
};
Peers& peers() {
  static auto& kept = *new Peers;
  return kept;
}

bool is_device(int index) { return index >= 0 && index < device().deviceCount(); }

struct Words {
  const char *name, *text;
};
const std::map<int, Words>& words() {
  static const std::map<int, Words> all{
      {0, {"cudaSuccess", "no error"}},
      {1, {"cudaErrorInvalidValue", "invalid argument"}},
      {2, {"cudaErrorMemoryAllocation", "out of memory"}},
      {3, {"cudaErrorInitializationError", "initialization error"}},
      {9, {"cudaErrorInvalidConfiguration", "invalid configuration argument"}},
      {12, {"cudaErrorInvalidPitchValue", "invalid pitch argument"}},
      {17, {"cudaErrorInvalidDevicePointer", "invalid device pointer"}},
      {20, {"cudaErrorInvalidChannelDescriptor", "invalid channel descriptor"}},
      {26, {"cudaErrorInvalidFilterSetting", "linear filtering not supported for non-float type"}},
      {98, {"cudaErrorInvalidDeviceFunction", "invalid device function"}},
      {100, {"cudaErrorNoDevice", "no CUDA-capable device is detected"}},
      {101, {"cudaErrorInvalidDevice", "invalid device ordinal"}},
      {217, {"cudaErrorPeerAccessUnsupported", "peer access is not supported between these two devices"}},
      {400, {"cudaErrorInvalidResourceHandle", "invalid resource handle"}},
      {600, {"cudaErrorNotReady", "device not ready"}},
      {700, {"cudaErrorIllegalAddress", "an illegal memory access was encountered"}},
      {704, {"cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"}},
      {705, {"cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"}},
      {710, {"cudaErrorAssert", "device-side assert triggered"}},
      {716, {"cudaErrorMisalignedAddress", "misaligned address"}},
      {719, {"cudaErrorLaunchFailure", "unspecified launch failure"}},
      {720, {"cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"}},
      {800, {"cudaErrorNotPermitted", "operation not permitted"}},
      {801, {"cudaErrorNotSupported", "operation not supported"}},
      {900, {"cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"}},
      {901, {"cudaErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"}},
      {902, {"cudaErrorStreamCaptureMerge", "operation would result in a merge of separate capture sequences"}},
      {903, {"cudaErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began"}},
      {904, {"cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"}},
      {905, {"cudaErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"}},
      {906, {"cudaErrorStreamCaptureImplicit", "operation would make the legacy stream depend on a capturing blocking stream"}},
      {907, {"cudaErrorCapturedEvent", "operation not permitted on an event last recorded in a capturing stream"}},
      {908, {"cudaErrorStreamCaptureWrongThread", "attempt to terminate a thread-local capture sequence from another thread"}},
      {910, {"cudaErrorGraphExecUpdateFailure", "the graph update was not performed because it included changes which violated "
                                                "constraints specific to instantiated graph update"}},
      {999, {"cudaErrorUnknown", "unknown error"}}};
  return all;
}

struct Attribute {
  cudaDeviceAttr which;
  int cudaDeviceProp::*value;
};
constexpr std::array<Attribute, 21> kAttributes{{
    {cudaDevAttrMaxThreadsPerBlock, &cudaDeviceProp::maxThreadsPerBlock},
    {cudaDevAttrWarpSize, &cudaDeviceProp::warpSize},
    {cudaDevAttrMaxRegistersPerBlock, &cudaDeviceProp::regsPerBlock},
    {cudaDevAttrMaxRegistersPerMultiprocessor, &cudaDeviceProp::regsPerMultiprocessor},
    {cudaDevAttrClockRate, &cudaDeviceProp::clockRate},
    {cudaDevAttrMultiProcessorCount, &cudaDeviceProp::multiProcessorCount},
    {cudaDevAttrL2CacheSize, &cudaDeviceProp::l2CacheSize},
    {cudaDevAttrMaxThreadsPerMultiProcessor, &cudaDeviceProp::maxThreadsPerMultiProcessor},
    {cudaDevAttrComputeCapabilityMajor, &cudaDeviceProp::major},
    {cudaDevAttrComputeCapabilityMinor, &cudaDeviceProp::minor},
    {cudaDevAttrUnifiedAddressing, &cudaDeviceProp::unifiedAddressing},
    {cudaDevAttrManagedMemory, &cudaDeviceProp::managedMemory},
    {cudaDevAttrMemoryClockRate, &cudaDeviceProp::memoryClockRate},
    {cudaDevAttrGlobalMemoryBusWidth, &cudaDeviceProp::memoryBusWidth},
    {cudaDevAttrAsyncEngineCount, &cudaDeviceProp::asyncEngineCount},
    {cudaDevAttrIsMultiGpuBoard, &cudaDeviceProp::isMultiGpuBoard},
    {cudaDevAttrPageableMemoryAccess, &cudaDeviceProp::pageableMemoryAccess},
    {cudaDevAttrComputeMode, &cudaDeviceProp::computeMode},
    {cudaDevAttrMaxBlocksPerMultiprocessor, &cudaDeviceProp::maxBlocksPerMultiProcessor},
    {cudaDevAttrCooperativeLaunch, &cudaDeviceProp::cooperativeLaunch},
    {cudaDevAttrConcurrentManagedAccess, &cudaDeviceProp::concurrentManagedAccess},
}};

int attribute_of(const cudaDeviceProp& p, cudaDeviceAttr which) {
  for (const Attribute& each : kAttributes)
    if (each.which == which) return p.*each.value;
  switch (which) {
    case cudaDevAttrMaxBlockDimX: case cudaDevAttrMaxBlockDimY: case cudaDevAttrMaxBlockDimZ:
      return p.maxThreadsDim[which - cudaDevAttrMaxBlockDimX];
    case cudaDevAttrMaxGridDimX: case cudaDevAttrMaxGridDimY: case cudaDevAttrMaxGridDimZ:
      return p.maxGridSize[which - cudaDevAttrMaxGridDimX];
    case cudaDevAttrMaxSharedMemoryPerBlock: return int(p.sharedMemPerBlock);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return int(p.sharedMemPerBlockOptin);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return int(p.sharedMemPerMultiprocessor);
    case cudaDevAttrTotalConstantMemory: return int(p.totalConstMem);
    case cudaDevAttrConcurrentKernels: case cudaDevAttrCanMapHostMemory: case cudaDevAttrGpuOverlap:
    case cudaDevAttrMemoryPoolsSupported: return 1;
    case cudaDevAttrMaxPitch: return int(p.memPitch);
    case cudaDevAttrReservedSharedMemoryPerBlock: return int(p.reservedSharedMemPerBlock);
    case cudaDevAttrIntegrated: case cudaDevAttrKernelExecTimeout: return 0;
    default: break;
  }
  int limit = texture_limit(which);
  TORCH_CHECK(limit, "the software device has no attribute ", int(which));
  return limit;
}

}  // namespace
}  // namespace morph_cuda

using namespace morph_cuda;

extern "C" {

const char* cudaGetErrorString(cudaError_t error) {
  auto found = words().find(error);
  return found == words().end() ? "unrecognized error code" : found->second.text;
}
const char* cudaGetErrorName(cudaError_t error) {
  auto found = words().find(error);
  return found == words().end() ? "unrecognized error code" : found->second.name;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) { return *version = CUDA_VERSION, cudaSuccess; }

cudaError_t cudaGetDevice(int* index) {
  return answered([&] { return *index = device().getDevice().index(), cudaSuccess; });
}
cudaError_t cudaSetDevice(int index) {
  if (!is_device(index)) return remembered(cudaErrorInvalidDevice);
  return answered([&] { return device().setDevice({c10::DeviceType::CUDA, c10::DeviceIndex(index)}), cudaSuccess; });
}
cudaError_t cudaGetDeviceCount(int* count) { return *count = device().deviceCount(), cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int index) {
  if (!is_device(index)) return remembered(cudaErrorInvalidDevice);
  return answered([&] { return *properties = properties_of(index), cudaSuccess; });
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int index) {
  if (!is_device(index)) return remembered(cudaErrorInvalidDevice);
  return answered([&] { return *value = attribute_of(properties_of(index), attribute), cudaSuccess; });
}
cudaError_t cudaDeviceSynchronize() {
  if (cudaError_t error = graphs::unsafe()) return remembered(error);
  return answered([&] { return device().synchronizeDevice(device().getDevice().index()), cudaSuccess; });
}
// In Python others' tensors would be gone. Of a program the system takes the memory back at its end.
cudaError_t cudaDeviceReset() {
  if (!is_program()) return remembered(cudaErrorNotSupported);
  forget_lasting();
  return cudaDeviceSynchronize();
}
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {  // what a GPU has at first
  const size_t values[] = {1024, 1 << 20, 8 << 20};
  if (unsigned(limit) >= std::size(values)) return remembered(cudaErrorNotSupported);
  return *value = values[limit], cudaSuccess;
}
cudaError_t cudaGetDeviceFlags(unsigned* flags) { return *flags = cudaDeviceScheduleAuto, cudaSuccess; }
cudaError_t cudaChooseDevice(int* index, const cudaDeviceProp*) { return *index = 0, cudaSuccess; }
cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int index) {
  if (!is_device(index) || !text || size < 13) return remembered(cudaErrorInvalidValue);
  return answered([&] {
    cudaDeviceProp p = properties_of(index);
    return std::snprintf(text, size_t(size), "%04x:%02x:%02x.0", p.pciDomainID, p.pciBusID, p.pciDeviceID), cudaSuccess;
  });
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream) {
  return remembered(morph_cuda::launch_by_address(const_cast<void*>(kernel), grid, block, arguments, shared, stream));
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) { return *least = 0, *greatest = -5, cudaSuccess; }
cudaError_t cudaDeviceCanAccessPeer(int* can, int index, int peer) {
  if (!is_device(index) || !is_device(peer)) return remembered(cudaErrorInvalidDevice);
  return answered([&] { return *can = reaches(index, peer), cudaSuccess; });
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  int index = device().getDevice().index();
  if (!is_device(peer) || peer == index) return remembered(cudaErrorInvalidDevice);
  return answered([&] {
    if (!reaches(index, peer)) return cudaErrorPeerAccessUnsupported;
    std::lock_guard<std::mutex> lock(peers().mutex);
    return peers().all.emplace(index, peer).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
  });
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  if (!is_device(peer)) return remembered(cudaErrorInvalidDevice);
  std::lock_guard<std::mutex> lock(peers().mutex);
  bool was = peers().all.erase({device().getDevice().index(), peer});
  return remembered(was ? cudaSuccess : cudaErrorPeerAccessNotEnabled);
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return answered([&] {
    std::tie(*free, *total) = memory_of(device().getDevice().index());
    return cudaSuccess;
  });
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t) {
  return answered([&] { return *pointer = bytes ? memory()->raw_allocate(bytes) : nullptr, cudaSuccess; });
}
cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (cudaError_t error = graphs::unsafe()) return remembered(error);
  return cudaMallocAsync(pointer, bytes, nullptr);
}
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned) {
  if (!sanitizer::is_memory_hidden()) return cudaMalloc(pointer, bytes);
  return answered([&] {
    *pointer = bytes ? device_functions().take_managed(bytes) : nullptr;
    return *pointer || !bytes ? cudaSuccess : cudaErrorMemoryAllocation;
  });
}
cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(pointer, *pitch * height);
}
cudaError_t cudaFree(void* pointer) {
  if (cudaError_t error = graphs::unsafe()) return remembered(error);
  return answered([&] {
    if (sanitizer::is_order_watched()) device().synchronizeDevice(device().getDevice().index());
    if (pointer) memory()->raw_deallocate(pointer);
    return cudaSuccess;
  });
}
// In a capture the memory is the graph's.
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  if (!graphs::keeps(stream)) return cudaFree(pointer);
  std::shared_ptr<void> held(pointer, [](void* start) { memory()->raw_deallocate(start); });
  return graphs::keep(stream, cudaGraphNodeTypeEmpty, [held](cudaStream_t) { return cudaSuccess; });
}
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  return answered([&] {
    *pointer = at::detail::getCUDAHooks().getPinnedMemoryAllocator()->raw_allocate(bytes);
    return *pointer || !bytes ? cudaSuccess : cudaErrorMemoryAllocation;
  });
}
cudaError_t cudaMallocHost(void** pointer, size_t bytes) { return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault); }
cudaError_t cudaFreeHost(void* pointer) {
  return answered([&] {
    if (pointer) at::detail::getCUDAHooks().getPinnedMemoryAllocator()->raw_deallocate(pointer);
    return cudaSuccess;
  });
}
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  return answered([&] { return cudaError_t(device_functions().pin(pointer, bytes)); });
}
cudaError_t cudaHostUnregister(void* pointer) {
  return answered([&] { return cudaError_t(device_functions().unpin(pointer)); });
}
cudaError_t cudaHostGetDevicePointer(void** on_device, void* host, unsigned) { return *on_device = host, cudaSuccess; }
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  void* given = const_cast<void*>(pointer);
  const auto& hooks = at::detail::getCUDAHooks();
  *attributes = {cudaMemoryTypeUnregistered, -1, nullptr, given};
  try {
    int index = hooks.getDeviceFromPtr(given).index();
    bool is_host = hooks.isPinnedPtr(pointer);
    *attributes = {is_host ? cudaMemoryTypeHost : cudaMemoryTypeDevice, index, given, is_host ? given : nullptr};
  } catch (const c10::Error&) {
  }
  return cudaSuccess;
}
cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  *pointer = {nullptr, 0, extent.width, extent.height};
  return cudaMallocPitch(&pointer->ptr, &pointer->pitch, extent.width, extent.height * extent.depth);
}
// All memory is the host's: it lies where it is advised to lie, if that place exists.
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise, int index) {
  if (!pointer || !bytes) return remembered(cudaErrorInvalidValue);
  return index == cudaCpuDeviceId || is_device(index) ? cudaSuccess : remembered(cudaErrorInvalidDevice);
}
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, int index, cudaStream_t) {
  return cudaMemAdvise(pointer, bytes, cudaMemAdviseSetPreferredLocation, index);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return answered([&] {
    *stream = handle_of(device().getNewStream(device().getDevice(), priority));
    if (!(flags & cudaStreamNonBlocking)) sanitizer::note_blocking(*stream);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) { return cudaStreamCreateWithPriority(stream, flags, 0); }
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (cudaError_t error = graphs::forbidden(stream)) return remembered(error);
  return answered([&] { return device().synchronizeStream(stream_of(stream)), cudaSuccess; });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (cudaError_t error = graphs::forbidden(stream)) return remembered(error);
  return answered([&] { return device().queryStream(stream_of(stream)) ? cudaSuccess : cudaErrorNotReady; });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  bool is_captured = false;
  cudaError_t error = graphs::join(stream, event->captured, is_captured);
  if (is_captured) return remembered(error);
  return answered([&] {
    if (event->recorded) device().block(event->event, stream_of(stream));
    return cudaSuccess;
  });
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void* pointer, size_t, unsigned) {
  return pointer ? cudaSuccess : remembered(cudaErrorInvalidValue);
}
cudaError_t cudaStreamGetPriority(cudaStream_t, int* priority) { return *priority = 0, cudaSuccess; }
#if CUDART_VERSION >= 13000
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t*,
                                     const cudaGraphNode_t**, const cudaGraphEdgeData**, size_t*) {
#else
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id) {
#endif
  unsigned long long number = 0;
  *status = graphs::status(stream, id ? id : &number);
  if (*status != cudaStreamCaptureStatusNone) return cudaSuccess;
  cudaError_t error = cudaStreamIsCapturing(stream, status);
  bool unknown = !error && id && *status == cudaStreamCaptureStatusActive;  // torch's captures have no number
  return unknown ? remembered(cudaErrorNotSupported) : error;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = graphs::status(stream, nullptr);
  if (*status != cudaStreamCaptureStatusNone) return cudaSuccess;
  return answered([&] {
    *status = is_capturing(stream_of(stream)) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
  if (cudaError_t error = graphs::forbidden(stream)) return remembered(error);
  return callback(stream, cudaStreamSynchronize(stream), data), cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return graphs::in_order(stream, cudaGraphNodeTypeHost, [=](cudaStream_t where) {
    cudaError_t error = cudaStreamSynchronize(where);
    if (error == cudaSuccess) function(data);
    return error;
  });
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return *event = new CUevent_st, cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (!event) return remembered(cudaErrorInvalidResourceHandle);
  if (event->event) device().destroyEvent(event->event, event->device);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  if (!event) return remembered(cudaErrorInvalidResourceHandle);
  if (graphs::mark(stream, event->captured)) return cudaSuccess;
  return answered([&] {
    event->device = device().getDevice().index();
    device().record(&event->event, stream_of(stream), event->device, c10::EventFlag::BACKEND_DEFAULT);
    event->recorded = true;
    return cudaSuccess;
  });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return cudaEventRecordWithFlags(event, stream, 0); }
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (!event->captured.capture.expired()) return remembered(cudaErrorCapturedEvent);
  return answered([&] {
    if (event->recorded) device().synchronizeEvent(event->event);
    return cudaSuccess;
  });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (!event->captured.capture.expired()) return remembered(cudaErrorCapturedEvent);
  return answered([&] { return !event->recorded || device().queryEvent(event->event) ? cudaSuccess : cudaErrorNotReady; });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  if (!from || !to || !from->recorded || !to->recorded) return remembered(cudaErrorInvalidResourceHandle);
  return answered([&] {
    return *milliseconds = float(device().elapsedTime(from->event, to->event, from->device)), cudaSuccess;
  });
}
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) { return remembered(cudaErrorNotSupported); }
cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned) { return remembered(cudaErrorNotSupported); }
cudaError_t cudaIpcCloseMemHandle(void*) { return remembered(cudaErrorNotSupported); }
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t*, cudaEvent_t) { return remembered(cudaErrorNotSupported); }
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t*, cudaIpcEventHandle_t) { return remembered(cudaErrorNotSupported); }
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

}  // extern "C"
