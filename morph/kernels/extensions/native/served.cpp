// What the libraries serve that morph serves to Python too (../../libraries): each function is that library's.
#include "device.h"
#include "errors.h"
#include "morph/driver_functions.h"
#include "morph/nccl.h"
#include "morph/nvrtc.h"

#include <tuple>

namespace morph_cuda {
namespace {

template <class Function>
struct Parts;
template <class R, class... A>
struct Parts<R(A...)> {
  using Result = R;
  template <size_t place>
  using Argument = std::tuple_element_t<place, std::tuple<A...>>;
};
template <class Function>
using Result = typename Parts<Function>::Result;
template <class Function, size_t place>
using Argument = typename Parts<Function>::template Argument<place>;

}  // namespace
}  // namespace morph_cuda

using namespace morph_cuda;

#define TAKES_0(F)
#define TAKES_1(F) Argument<decltype(F), 0> a
#define TAKES_2(F) TAKES_1(F), Argument<decltype(F), 1> b
#define TAKES_3(F) TAKES_2(F), Argument<decltype(F), 2> c
#define TAKES_4(F) TAKES_3(F), Argument<decltype(F), 3> d
#define TAKES_5(F) TAKES_4(F), Argument<decltype(F), 4> e
#define TAKES_6(F) TAKES_5(F), Argument<decltype(F), 5> f
#define TAKES_7(F) TAKES_6(F), Argument<decltype(F), 6> g
#define TAKES_8(F) TAKES_7(F), Argument<decltype(F), 7> h
#define TAKES_9(F) TAKES_8(F), Argument<decltype(F), 8> i
#define TAKES_10(F) TAKES_9(F), Argument<decltype(F), 9> j
#define TAKES_11(F) TAKES_10(F), Argument<decltype(F), 10> k
#define GIVES_0
#define GIVES_1 a
#define GIVES_2 GIVES_1, b
#define GIVES_3 GIVES_2, c
#define GIVES_4 GIVES_3, d
#define GIVES_5 GIVES_4, e
#define GIVES_6 GIVES_5, f
#define GIVES_7 GIVES_6, g
#define GIVES_8 GIVES_7, h
#define GIVES_9 GIVES_8, i
#define GIVES_10 GIVES_9, j
#define GIVES_11 GIVES_10, k
#define FORWARDED(F, COUNT, FIRST)                                                              \
  extern "C" Result<decltype(F)> F(TAKES_##COUNT(F)) {                                          \
    static auto* const function = reinterpret_cast<decltype(&F)>(served_function(LIBRARY, #F)); \
    FIRST return function(GIVES_##COUNT);                                                       \
  }
#define SERVED(F, COUNT) FORWARDED(F, COUNT, )
// As CUDA's, each of the driver's calls tells of a kernel that has failed before.
#define DRIVERS(F, COUNT) FORWARDED(F, COUNT, if (lasting()) return CUresult(lasting());)

#define LIBRARY "libcuda.so.1"
SERVED(cuGetErrorName, 2) SERVED(cuGetErrorString, 2)
DRIVERS(cuCtxSynchronize, 0)
DRIVERS(cuInit, 1) DRIVERS(cuDriverGetVersion, 1) DRIVERS(cuDeviceGetCount, 1) DRIVERS(cuDevicePrimaryCtxRelease, 1)
DRIVERS(cuDevicePrimaryCtxReset, 1) DRIVERS(cuCtxDestroy, 1) DRIVERS(cuCtxPushCurrent, 1) DRIVERS(cuCtxPopCurrent, 1)
DRIVERS(cuCtxSetCurrent, 1) DRIVERS(cuCtxGetCurrent, 1) DRIVERS(cuCtxGetDevice, 1) DRIVERS(cuMemFree, 1)
DRIVERS(cuMemFreeHost, 1) DRIVERS(cuMemHostUnregister, 1) DRIVERS(cuStreamDestroy, 1) DRIVERS(cuStreamSynchronize, 1)
DRIVERS(cuStreamQuery, 1) DRIVERS(cuEventDestroy, 1) DRIVERS(cuEventQuery, 1) DRIVERS(cuEventSynchronize, 1)
DRIVERS(cuModuleUnload, 1) DRIVERS(cuLinkDestroy, 1)
DRIVERS(cuDeviceGet, 2) DRIVERS(cuDeviceTotalMem, 2) DRIVERS(cuDeviceGetUuid, 2) DRIVERS(cuDevicePrimaryCtxRetain, 2)
DRIVERS(cuDevicePrimaryCtxSetFlags, 2) DRIVERS(cuCtxGetApiVersion, 2) DRIVERS(cuCtxEnablePeerAccess, 2)
DRIVERS(cuMemGetInfo, 2) DRIVERS(cuMemAlloc, 2) DRIVERS(cuMemAllocHost, 2) DRIVERS(cuMemFreeAsync, 2)
DRIVERS(cuStreamCreate, 2) DRIVERS(cuEventCreate, 2) DRIVERS(cuEventRecord, 2) DRIVERS(cuModuleLoad, 2)
DRIVERS(cuModuleLoadData, 2) DRIVERS(cuModuleLoadFatBinary, 2) DRIVERS(cuFuncSetCacheConfig, 2)
DRIVERS(cuDeviceGetName, 3) DRIVERS(cuDeviceGetAttribute, 3) DRIVERS(cuDeviceCanAccessPeer, 3)
DRIVERS(cuDeviceGetPCIBusId, 3) DRIVERS(cuDevicePrimaryCtxGetState, 3) DRIVERS(cuCtxCreate_v2, 3)
DRIVERS(cuMemAllocManaged, 3) DRIVERS(cuMemHostAlloc, 3) DRIVERS(cuMemHostGetDevicePointer, 3)
DRIVERS(cuMemHostRegister, 3) DRIVERS(cuMemGetAddressRange, 3) DRIVERS(cuMemAllocAsync, 3) DRIVERS(cuMemcpy, 3)
DRIVERS(cuMemcpyHtoD, 3) DRIVERS(cuMemcpyDtoH, 3) DRIVERS(cuMemcpyDtoD, 3) DRIVERS(cuMemsetD8, 3)
DRIVERS(cuMemsetD16, 3) DRIVERS(cuMemsetD32, 3) DRIVERS(cuPointerGetAttribute, 3)
DRIVERS(cuStreamCreateWithPriority, 3) DRIVERS(cuStreamWaitEvent, 3) DRIVERS(cuEventElapsedTime, 3)
DRIVERS(cuModuleGetFunction, 3) DRIVERS(cuFuncGetAttribute, 3) DRIVERS(cuFuncSetAttribute, 3)
DRIVERS(cuLaunchHostFunc, 3) DRIVERS(cuLinkComplete, 3)
DRIVERS(cuCtxCreate_v4, 4) DRIVERS(cuMemcpyAsync, 4) DRIVERS(cuMemcpyHtoDAsync, 4) DRIVERS(cuMemcpyDtoHAsync, 4)
DRIVERS(cuMemcpyDtoDAsync, 4) DRIVERS(cuMemsetD8Async, 4) DRIVERS(cuMemsetD16Async, 4) DRIVERS(cuMemsetD32Async, 4)
DRIVERS(cuModuleGetGlobal, 4) DRIVERS(cuOccupancyMaxActiveBlocksPerMultiprocessor, 4) DRIVERS(cuLinkCreate, 4)
DRIVERS(cuGetProcAddress_v2, 5) DRIVERS(cuMemAllocPitch, 5) DRIVERS(cuMemcpyPeer, 5) DRIVERS(cuModuleLoadDataEx, 5)
DRIVERS(cuOccupancyMaxPotentialBlockSize, 6) DRIVERS(cuLinkAddFile, 6)
DRIVERS(cuLinkAddData, 8)
DRIVERS(cuLaunchCooperativeKernel, 10)
DRIVERS(cuLaunchKernel, 11)
#undef LIBRARY

#define LIBRARY "libnccl.so.2"
SERVED(ncclGroupStart, 0) SERVED(ncclGroupEnd, 0)
SERVED(ncclGetVersion, 1) SERVED(ncclGetErrorString, 1) SERVED(ncclGetLastError, 1) SERVED(ncclGetUniqueId, 1)
SERVED(ncclCommFinalize, 1) SERVED(ncclCommDestroy, 1) SERVED(ncclCommAbort, 1) SERVED(ncclMemFree, 1)
SERVED(ncclCommGetAsyncError, 2) SERVED(ncclCommCount, 2) SERVED(ncclCommCuDevice, 2) SERVED(ncclCommUserRank, 2)
SERVED(ncclCommDeregister, 2) SERVED(ncclMemAlloc, 2) SERVED(ncclRedOpDestroy, 2)
SERVED(ncclCommInitAll, 3)
SERVED(ncclCommInitRank, 4) SERVED(ncclCommRegister, 4)
SERVED(ncclCommInitRankConfig, 5) SERVED(ncclCommSplit, 5) SERVED(ncclRedOpCreatePreMulSum, 5)
SERVED(ncclBcast, 6) SERVED(ncclAllGather, 6) SERVED(ncclSend, 6) SERVED(ncclRecv, 6)
SERVED(ncclBroadcast, 7) SERVED(ncclAllReduce, 7) SERVED(ncclReduceScatter, 7)
SERVED(ncclReduce, 8)
#undef LIBRARY

#define LIBRARY "libnvrtc.so"
SERVED(nvrtcGetErrorString, 1) SERVED(nvrtcGetNumSupportedArchs, 1) SERVED(nvrtcGetSupportedArchs, 1)
SERVED(nvrtcDestroyProgram, 1)
SERVED(nvrtcVersion, 2) SERVED(nvrtcGetPTXSize, 2) SERVED(nvrtcGetPTX, 2) SERVED(nvrtcGetCUBINSize, 2)
SERVED(nvrtcGetCUBIN, 2) SERVED(nvrtcGetProgramLogSize, 2) SERVED(nvrtcGetProgramLog, 2)
SERVED(nvrtcAddNameExpression, 2)
SERVED(nvrtcCompileProgram, 3) SERVED(nvrtcGetLoweredName, 3)
SERVED(nvrtcCreateProgram, 6)
#undef LIBRARY
