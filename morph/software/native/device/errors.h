// The runtime's errors, in CUDA's numbers and words, which HIP shares.
#pragma once

#include <c10/util/Exception.h>

#include <cstdint>
#include <string>

namespace software {

enum : int32_t {
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInitializationError = 3,
  kInvalidDevice = 101,
  kUncorrectableECC = 214,
  kInvalidHandle = 400,
  kNotReady = 600,
  kIllegalAddress = 700,
  kAssert = 710,
  kAlreadyRegistered = 712,
  kNotRegistered = 713,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureMerge = 902,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
};

std::string error_text(int32_t code);              // "invalid device ordinal"
[[noreturn]] void refuse(int32_t code, const std::string& detail = "");  // as torch.AcceleratorError
std::string readable_size(size_t bytes);           // "1.50 GiB"

struct MemoryFigures { int device; size_t wanted, total, free, limit, reserved, allocated; };
[[noreturn]] void refuse_memory(const MemoryFigures& figures);  // as torch.OutOfMemoryError

}  // namespace software
