// See errors.h.
#include "device/errors.h"

#include "device/device.h"

#include <cstdio>
#include <cstdlib>
#include <map>

namespace c10 {
class AcceleratorError;  // torch 2.8
}

namespace software {
namespace {

struct Code {
  const char *name, *text;  // the name without the runtime's prefix: "ErrorInvalidDevice"
};

const std::map<int32_t, Code>& codes() {
  static const std::map<int32_t, Code> all{
      {0, {"Success", "no error"}},
      {1, {"ErrorInvalidValue", "invalid argument"}},
      {2, {"ErrorMemoryAllocation", "out of memory"}},
      {3, {"ErrorInitializationError", "initialization error"}},
      {4, {"ErrorCudartUnloading", "driver shutting down"}},
      {9, {"ErrorInvalidConfiguration", "invalid configuration argument"}},
      {12, {"ErrorInvalidPitchValue", "invalid pitch argument"}},
      {13, {"ErrorInvalidSymbol", "invalid device symbol"}},
      {17, {"ErrorInvalidDevicePointer", "invalid device pointer"}},
      {21, {"ErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"}},
      {35, {"ErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"}},
      {46, {"ErrorDevicesUnavailable", "CUDA-capable device(s) is/are busy or unavailable"}},
      {98, {"ErrorInvalidDeviceFunction", "invalid device function"}},
      {100, {"ErrorNoDevice", "no CUDA-capable device is detected"}},
      {101, {"ErrorInvalidDevice", "invalid device ordinal"}},
      {200, {"ErrorInvalidKernelImage", "device kernel image is invalid"}},
      {201, {"ErrorDeviceUninitialized", "invalid device context"}},
      {205, {"ErrorMapBufferObjectFailed", "mapping of buffer object failed"}},
      {209, {"ErrorNoKernelImageForDevice", "no kernel image is available for execution on the device"}},
      {214, {"ErrorECCUncorrectable", "uncorrectable ECC error encountered"}},
      {217, {"ErrorPeerAccessUnsupported", "peer access is not supported between these two devices"}},
      {300, {"ErrorInvalidSource", "device kernel image is invalid"}},
      {304, {"ErrorOperatingSystem", "OS call failed or operation not supported on this OS"}},
      {400, {"ErrorInvalidResourceHandle", "invalid resource handle"}},
      {401, {"ErrorIllegalState", "the operation cannot be performed in the present state"}},
      {500, {"ErrorSymbolNotFound", "named symbol not found"}},
      {600, {"ErrorNotReady", "device not ready"}},
      {700, {"ErrorIllegalAddress", "an illegal memory access was encountered"}},
      {701, {"ErrorLaunchOutOfResources", "too many resources requested for launch"}},
      {702, {"ErrorLaunchTimeout", "the launch timed out and was terminated"}},
      {704, {"ErrorPeerAccessAlreadyEnabled", "peer access is already enabled"}},
      {705, {"ErrorPeerAccessNotEnabled", "peer access has not been enabled"}},
      {709, {"ErrorContextIsDestroyed", "context is destroyed"}},
      {710, {"ErrorAssert", "device-side assert triggered"}},
      {712, {"ErrorHostMemoryAlreadyRegistered", "part or all of the requested memory range is already mapped"}},
      {713, {"ErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region"}},
      {715, {"ErrorIllegalInstruction", "an illegal instruction was encountered"}},
      {716, {"ErrorMisalignedAddress", "misaligned address"}},
      {717, {"ErrorInvalidAddressSpace", "operation not supported on global/shared address space"}},
      {719, {"ErrorLaunchFailure", "unspecified launch failure"}},
      {800, {"ErrorNotPermitted", "operation not permitted"}},
      {801, {"ErrorNotSupported", "operation not supported"}},
      {802, {"ErrorSystemNotReady", "system not yet initialized"}},
      {900, {"ErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"}},
      {901, {"ErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"}},
      {902, {"ErrorStreamCaptureMerge", "operation would result in a merge of separate capture sequences"}},
      {903, {"ErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began"}},
      {904, {"ErrorStreamCaptureUnjoined", "capturing stream has unjoined work"}},
      {905, {"ErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"}},
      {906, {"ErrorStreamCaptureImplicit", "operation would make the legacy stream depend on a capturing blocking stream"}},
      {907, {"ErrorCapturedEvent", "operation not permitted on an event last recorded in a capturing stream"}},
      {910, {"ErrorGraphExecUpdateFailure", "the graph update was not performed because it included changes which violated "
                                            "constraints specific to instantiated graph update"}},
      {999, {"ErrorUnknown", "unknown error"}}};
  return all;
}

std::string help(int32_t code) {
  if (code == kInvalidDevice) return "\nGPU device may be out of range, do you have enough GPUs?";
  const std::string prefix = settings().title == "HIP" ? "hip" : "cuda";
  return "\nSearch for `" + prefix + codes().at(code).name +
         "' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.";
}

std::string advice() {
  const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  if (blocking && std::atoi(blocking)) return "";
  return "\n" + settings().title +
         " kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
         "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1";
}

template <class Error>
[[noreturn]] void throw_with(int32_t code, std::string text) {
  c10::SourceLocation here{__func__, __FILE__, uint32_t(__LINE__)};
  if constexpr (Known<Error>) throw Error(here, code, std::move(text));
  else throw c10::Error(here, std::move(text));
}

}  // namespace

std::string error_text(int32_t code) {
  auto found = codes().find(code);
  return found == codes().end() ? "unrecognized error code" : found->second.text;
}

void refuse(int32_t code, const std::string& detail) {
  std::string text = settings().title + " error: " + error_text(code) + (detail.empty() ? "" : "\n" + detail) + help(code) + advice() +
                     "\nDevice-side assertion tracking was not enabled by user.";
  throw_with<c10::AcceleratorError>(code, std::move(text));
}

std::string readable_size(size_t bytes) {
  constexpr double KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;
  char text[32];
  if (double(bytes) <= KiB) std::snprintf(text, sizeof text, "%zu bytes", bytes);
  else if (double(bytes) <= MiB) std::snprintf(text, sizeof text, "%.2f KiB", double(bytes) / KiB);
  else if (double(bytes) <= GiB) std::snprintf(text, sizeof text, "%.2f MiB", double(bytes) / MiB);
  else std::snprintf(text, sizeof text, "%.2f GiB", double(bytes) / GiB);
  return text;
}

void refuse_memory(const MemoryFigures& of) {
  std::string allowed = of.limit < of.total ? readable_size(of.limit) + " allowed; " : "";
  C10_THROW_ERROR(
      OutOfMemoryError,
      c10::str(settings().title, " out of memory. Tried to allocate ", readable_size(of.wanted), ". GPU ", of.device,
               " has a total capacity of ", readable_size(of.total), " of which ", readable_size(of.free),
               " is free. Including non-PyTorch memory, this process has ", readable_size(of.reserved),
               " memory in use. ", allowed, "Of the allocated memory ", readable_size(of.allocated),
               " is allocated by PyTorch, and ", readable_size(of.reserved - of.allocated),
               " is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
               "PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
               "Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"));
}

}  // namespace software
