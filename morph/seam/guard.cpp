// A device guard for CUDA: forwards to the vendor's guard, or gives the CPU one device with streams and events.
#include "seam.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <utility>

namespace seam {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::DeviceType;
using c10::Stream;
using c10::impl::DeviceGuardImplInterface;

Device as_cuda(Device device) { return Device(DeviceType::CUDA, device.index()); }

// Streams and events stay the vendor's own: a torch.Stream made for "cuda" is one that the vendor's functions accept.
struct VendorGuard final : DeviceGuardImplInterface {
  const DeviceGuardImplInterface* vendor() const { return c10::impl::getDeviceGuardImpl(target()); }

  DeviceType type() const override { return DeviceType::CUDA; }
  Device exchangeDevice(Device device) const override { return as_cuda(vendor()->exchangeDevice(translate(device))); }
  Device getDevice() const override { return as_cuda(vendor()->getDevice()); }
  void setDevice(Device device) const override { vendor()->setDevice(translate(device)); }
  void uncheckedSetDevice(Device device) const noexcept override {
    vendor()->uncheckedSetDevice(Device(target(), device.index()));
  }
  DeviceIndex deviceCount() const noexcept override { return vendor()->deviceCount(); }
  c10::DeviceCapability getDeviceCapability(Device device) const override {
    return vendor()->getDeviceCapability(translate(device));
  }
  void synchronizeDevice(const DeviceIndex index) const override { vendor()->synchronizeDevice(index); }

  Stream vendors(Stream stream) const {
    return stream.device_type() == DeviceType::CUDA ? Stream(Stream::UNSAFE, translate(stream.device()), stream.id())
                                                    : stream;
  }
  Stream getStream(Device device) const override { return vendor()->getStream(translate(device)); }
  Stream getDefaultStream(Device device) const override { return vendor()->getDefaultStream(translate(device)); }
  Stream getStreamFromGlobalPool(Device device, bool high) const override {
    return vendor()->getStreamFromGlobalPool(translate(device), high);
  }
  Stream getNewStream(Device device, int priority) const override {
    return vendor()->getNewStream(translate(device), priority);
  }
  Stream exchangeStream(Stream stream) const override { return vendor()->exchangeStream(vendors(stream)); }
  void* getStreamNativeHandle(const Stream stream) const override {
    return vendor()->getStreamNativeHandle(vendors(stream));
  }
  bool queryStream(const Stream& stream) const override { return vendor()->queryStream(vendors(stream)); }
  void synchronizeStream(const Stream& stream) const override { vendor()->synchronizeStream(vendors(stream)); }
  bool isStreamCapturing(const Stream& stream) const override { return vendor()->isStreamCapturing(vendors(stream)); }
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

using Clock = std::chrono::steady_clock;
thread_local c10::StreamId host_stream = 0;
std::atomic<c10::StreamId> last_host_stream{0};

// On the CPU work is done when the call returns: streams only have identities, events only have times.
struct HostGuard final : DeviceGuardImplInterface {
  Device only() const { return Device(DeviceType::CUDA, 0); }
  Device checked(Device device) const { return translate(device), only(); }
  Stream stream(c10::StreamId id) const { return Stream(Stream::UNSAFE, only(), id); }

  DeviceType type() const override { return DeviceType::CUDA; }
  Device exchangeDevice(Device device) const override { return checked(device); }
  Device getDevice() const override { return only(); }
  void setDevice(Device device) const override { checked(device); }
  void uncheckedSetDevice(Device) const noexcept override {}
  DeviceIndex deviceCount() const noexcept override { return 1; }
  c10::DeviceCapability getDeviceCapability(Device device) const override {
    return c10::impl::getDeviceGuardImpl(DeviceType::CPU)->getDeviceCapability(translate(device));
  }
  void synchronizeDevice(const DeviceIndex) const override {}

  Stream getStream(Device device) const override { return checked(device), stream(host_stream); }
  Stream getDefaultStream(Device device) const override { return checked(device), stream(0); }
  Stream getStreamFromGlobalPool(Device device, bool) const override { return getNewStream(device, 0); }
  Stream getNewStream(Device device, int) const override { return checked(device), stream(++last_host_stream); }
  Stream exchangeStream(Stream next) const override { return stream(std::exchange(host_stream, next.id())); }
  bool queryStream(const Stream&) const override { return true; }
  void synchronizeStream(const Stream&) const override {}

  void record(void** event, const Stream&, const DeviceIndex, const c10::EventFlag) const override {
    if (*event == nullptr) *event = new Clock::time_point;
    *static_cast<Clock::time_point*>(*event) = Clock::now();
  }
  void block(void*, const Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override {}
  void destroyEvent(void* event, const DeviceIndex) const noexcept override {
    delete static_cast<Clock::time_point*>(event);
  }
  double elapsedTime(void* first, void* second, const DeviceIndex) const override {
    auto elapsed = *static_cast<Clock::time_point*>(second) - *static_cast<Clock::time_point*>(first);
    return std::chrono::duration<double, std::milli>(elapsed).count();
  }
};

// Autograd starts a thread for each device at its first backward; on the CPU it needs none, and one that asks for the
// interpreter while that ends aborts the process. Nor could a process fork after it.
void start_autograd_without_devices() {
  pybind11::gil_scoped_release without_interpreter;
  c10::InferenceMode no_inference(false);
  c10::AutoGradMode with_gradients(true);
  at::Tensor leaf = at::ones({});
  leaf.set_requires_grad(true);
  leaf.clone().backward();
}

std::atomic<const DeviceGuardImplInterface*>& registered() {
  return c10::impl::device_guard_impl_registry[static_cast<size_t>(DeviceType::CUDA)];
}
const DeviceGuardImplInterface* previous = nullptr;
bool exchanged = false;

}  // namespace

void engage_guard() {
  // Never freed: torch keeps pointers to guards in events and in its device threads.
  static const VendorGuard vendor_guard;
  static const HostGuard host_guard;
  c10::impl::getDeviceGuardImpl(target());  // raises where torch has no such device
  const DeviceGuardImplInterface* guard = &vendor_guard;
  if (on_host()) {
    start_autograd_without_devices();
    guard = &host_guard;
  }
  previous = registered().exchange(guard);
  exchanged = true;
}

void disengage_guard() {
  if (std::exchange(exchanged, false)) registered().store(previous);
}

}  // namespace seam
