// A device guard for CUDA that forwards to the vendor's guard.
#include "seam.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>
#include <utility>

namespace seam {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::DeviceType;
using c10::Stream;
using c10::impl::DeviceGuardImplInterface;

// Threads of autograd's choose a device by the vendor's number.
Device numbered(Device device) { return is_numbered_by_rank() ? numbered_by_target(device) : translate(device); }
Device as_cuda(Device device) { return Device(DeviceType::CUDA, c10::DeviceIndex(numbered_by_cuda(device))); }

// Streams and events stay the vendor's own: a torch.Stream made for "cuda" is one that the vendor's functions accept.
struct Guard : DeviceGuardImplInterface {
  const DeviceGuardImplInterface* vendor() const { return c10::impl::getDeviceGuardImpl(target()); }
  Stream vendors(Stream stream) const {
    if (stream.device_type() != DeviceType::CUDA) return stream;
    return Stream(Stream::UNSAFE, numbered(stream.device()), stream.id());
  }

  DeviceType type() const override { return DeviceType::CUDA; }
  Device exchangeDevice(Device device) const override { return as_cuda(vendor()->exchangeDevice(numbered(device))); }
  Device getDevice() const override { return as_cuda(vendor()->getDevice()); }
  void setDevice(Device device) const override { vendor()->setDevice(numbered(device)); }
  void uncheckedSetDevice(Device device) const noexcept override {
    vendor()->uncheckedSetDevice(numbered_by_target(device));
  }
  DeviceIndex deviceCount() const noexcept override { return vendor()->deviceCount(); }
  void synchronizeDevice(const DeviceIndex index) const override { vendor()->synchronizeDevice(index); }

  Stream getStream(Device device) const override { return vendor()->getStream(numbered(device)); }
  Stream getDefaultStream(Device device) const override { return vendor()->getDefaultStream(numbered(device)); }
  Stream getStreamFromGlobalPool(Device device, bool high) const override {
    return vendor()->getStreamFromGlobalPool(numbered(device), high);
  }
  Stream getNewStream(Device device, int priority) const override {
    return vendor()->getNewStream(numbered(device), priority);
  }
  Stream exchangeStream(Stream stream) const override { return vendor()->exchangeStream(vendors(stream)); }
  bool queryStream(const Stream& stream) const override { return vendor()->queryStream(vendors(stream)); }
  void synchronizeStream(const Stream& stream) const override { vendor()->synchronizeStream(vendors(stream)); }
  void recordDataPtrOnStream(const c10::DataPtr& data, const Stream& stream) const override {
    vendor()->recordDataPtrOnStream(data, vendors(stream));
  }

  void record(void** event, const Stream& stream, const DeviceIndex index, const c10::EventFlag flag) const override {
    vendor()->record(event, vendors(stream), index, flag);
  }
  void block(void* event, const Stream& stream) const override { vendor()->block(event, vendors(stream)); }
  bool queryEvent(void* event) const override { return vendor()->queryEvent(event); }
  void synchronizeEvent(void* event) const override { vendor()->synchronizeEvent(event); }
  void destroyEvent(void* event, const DeviceIndex index) const noexcept override {
    vendor()->destroyEvent(event, index);
  }
  double elapsedTime(void* first, void* second, const DeviceIndex index) const override {
    return vendor()->elapsedTime(first, second, index);
  }
};

// Functions that some supported releases of torch lack, each in a class that is empty there.
template <class Base>
struct WithCapability : Base {};
template <class Base>
  requires requires(const Base& base, Device device) { base.getDeviceCapability(device); }
struct WithCapability<Base> : Base {  // torch 2.10
  using Capability = decltype(std::declval<const Base&>().getDeviceCapability(Device(DeviceType::CUDA)));
  Capability getDeviceCapability(Device device) const override {
    return this->vendor()->getDeviceCapability(numbered(device));
  }
};

template <class Base>
struct WithNativeHandle : Base {};
template <class Base>
  requires requires(const Base& base, Stream stream) { base.getStreamNativeHandle(stream); }
struct WithNativeHandle<Base> : Base {  // torch 2.11
  void* getStreamNativeHandle(const Stream stream) const override {
    return this->vendor()->getStreamNativeHandle(this->vendors(stream));
  }
};

template <class Base>
struct WithCapture : Base {};
template <class Base>
  requires requires(const Base& base, Stream stream) { base.isStreamCapturing(stream); }
struct WithCapture<Base> : Base {  // torch 2.12
  bool isStreamCapturing(const Stream& stream) const override {
    return this->vendor()->isStreamCapturing(this->vendors(stream));
  }
};

using VendorGuard = WithCapture<WithNativeHandle<WithCapability<Guard>>>;

std::atomic<const DeviceGuardImplInterface*>& registered() {
  return c10::impl::device_guard_impl_registry[static_cast<size_t>(DeviceType::CUDA)];
}
const DeviceGuardImplInterface* previous = nullptr;
bool exchanged = false;

}  // namespace

void engage_guard() {
  // Never freed: torch keeps pointers to guards in events and in its device threads.
  static const VendorGuard vendor_guard;
  c10::impl::getDeviceGuardImpl(target());  // raises where torch has no such device
  previous = registered().exchange(&vendor_guard);
  exchanged = true;
}

void disengage_guard() {
  if (std::exchange(exchanged, false)) registered().store(previous);
}

}  // namespace seam
