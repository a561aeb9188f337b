// Device guard, streams and events. Work is done when it is queued, so every queue is empty and in order.
#include "device.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <chrono>
#include <mutex>
#include <unordered_map>

namespace software {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::Stream;
using Clock = std::chrono::steady_clock;

thread_local std::unordered_map<DeviceIndex, c10::StreamId> current_streams;
std::mutex streams_mutex;
std::unordered_map<c10::StreamId, int> priorities;  // of every stream but the default one

struct Event {
  Clock::time_point time;
  c10::EventFlag flag;
};

Stream stream(Device device, c10::StreamId id) { return Stream(Stream::UNSAFE, device, id); }

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return settings().type; }
  Device exchangeDevice(Device wanted) const override {
    Device previous = getDevice();
    setDevice(wanted);
    return previous;
  }
  Device getDevice() const override { return device(current_device()); }
  void setDevice(Device wanted) const override { set_current_device(wanted.index()); }
  void uncheckedSetDevice(Device wanted) const noexcept override {
    if (wanted.index() < settings().count) set_current_device(wanted.index());
  }
  DeviceIndex deviceCount() const noexcept override { return settings().count; }
  void synchronizeDevice(const DeviceIndex index) const override { checked(index); }

  Stream getStream(Device of) const override { return current_stream(checked(of.index())); }
  Stream getDefaultStream(Device of) const override { return stream(device(checked(of.index())), 0); }
  Stream getStreamFromGlobalPool(Device of, bool high) const override { return getNewStream(of, high ? -1 : 0); }
  Stream getNewStream(Device of, int priority) const override {
    std::lock_guard<std::mutex> lock(streams_mutex);
    c10::StreamId id = c10::StreamId(priorities.size()) + 1;
    priorities[id] = priority;
    return stream(device(checked(of.index())), id);
  }
  Stream exchangeStream(Stream wanted) const override {
    Stream previous = getStream(wanted.device());
    current_streams[wanted.device_index()] = wanted.id();
    return previous;
  }
  void* getStreamNativeHandle(const Stream which) const override { return reinterpret_cast<void*>(which.id()); }
  bool queryStream(const Stream&) const override { return true; }
  void synchronizeStream(const Stream&) const override {}

  void record(void** event, const Stream&, const DeviceIndex, const c10::EventFlag flag) const override {
    if (!*event) *event = new Event;
    *static_cast<Event*>(*event) = {Clock::now(), flag};
  }
  void block(void*, const Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override {}
  void destroyEvent(void* event, const DeviceIndex) const noexcept override { delete static_cast<Event*>(event); }
  double elapsedTime(void* from, void* to, const DeviceIndex) const override { return elapsed_time(from, to); }
  void recordDataPtrOnStream(const c10::DataPtr& data, const Stream& which) const override {
    allocator()->recordStream(data, which);
  }
};

}  // namespace

Stream current_stream(DeviceIndex index) {
  auto found = current_streams.find(index);
  return stream(device(index), found == current_streams.end() ? 0 : found->second);
}

double elapsed_time(const void* from, const void* to) {
  auto passed = static_cast<const Event*>(to)->time - static_cast<const Event*>(from)->time;
  return std::chrono::duration<double, std::milli>(passed).count();
}

int stream_priority(c10::StreamId id) {
  std::lock_guard<std::mutex> lock(streams_mutex);
  auto found = priorities.find(id);
  return found == priorities.end() ? 0 : found->second;
}

void install_guard() { c10::impl::registerDeviceGuard(settings().type, new Guard); }

}  // namespace software
