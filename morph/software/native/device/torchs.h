// Declarations that some supported releases of torch lack: torch's own, or a substitute.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Stream.h>

#include <utility>

namespace c10 {
struct DeviceAllocator;  // torch 2.9
}

namespace software {

using MempoolId_t = std::pair<unsigned long long, unsigned long long>;

template <class Type>
concept Known = requires { sizeof(Type); };

// The functions of torch's class; a torch without the class calls none of them.
struct PlainDeviceAllocator : c10::Allocator {
  virtual bool initialized() = 0;
  virtual void emptyCache(MempoolId_t pool = {0, 0}) = 0;
  virtual void recordStream(const c10::DataPtr& data, c10::Stream stream) = 0;
  virtual c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) = 0;
  virtual void resetAccumulatedStats(c10::DeviceIndex device) = 0;
  virtual void resetPeakStats(c10::DeviceIndex device) = 0;
};

template <class Base>
struct WithMemoryInfo : Base {
  virtual std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) = 0;
};
template <class Base>
  requires requires(Base& base, c10::DeviceIndex device) { base.getMemoryInfo(device); }
struct WithMemoryInfo<Base> : Base {};  // torch 2.10

using DeviceAllocator =
    WithMemoryInfo<std::conditional_t<Known<c10::DeviceAllocator>, c10::DeviceAllocator, PlainDeviceAllocator>>;

}  // namespace software
