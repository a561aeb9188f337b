// Device guard, streams and events.
#include "device/activities.h"
#include "device/assertions.h"
#include "device/captures.h"
#include "device/clock.h"
#include "device/errors.h"
#include "device/trace.h"
#include "device/order.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <set>

namespace software {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::Stream;

thread_local std::array<c10::StreamId, 128> current_streams{};  // by device

// As torch has for a GPU: this many streams of each priority, used in turn. The default one is 0; 1 and 2 are its
// other handles in CUDA (cudaStreamLegacy, cudaStreamPerThread). Streams made by libcudart are never used again.
constexpr c10::StreamId kStreams = 32, kPriorities = 4, kDefaults = 3, kFirst = 0x100, kFirstMade = 0x1000;
std::array<std::array<std::atomic<uint32_t>, kPriorities>, 128> given{};
std::mutex making;
std::set<c10::StreamId> made;
c10::StreamId count_of_made = 0;

c10::StreamId level_of(int priority) { return std::clamp(-c10::StreamId(priority), c10::StreamId(0), kPriorities - 1); }
bool is_of_pool(c10::StreamId id) { return id >= kFirst && id < kFirst + kStreams * kPriorities; }
bool is_given(c10::StreamId id) {
  if (!is_of_pool(id)) return false;
  auto level = size_t((id - kFirst) / kStreams);
  auto turn = uint32_t((id - kFirst) % kStreams);
  return std::any_of(given.begin(), given.end(), [&](const auto& of_device) { return of_device[level] > turn; });
}

std::atomic<int64_t> events{0};

struct Event {
  Event() { events++; }
  ~Event() { events--; }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  Clock::time_point time;
  Mark mark;
  std::shared_ptr<const Moment> moment;  // of the work before it, if the order is watched
  bool external = false;  // a graph records it at each replay, and waits for it then
};

Clock::time_point time_of(const void* event) { return event ? static_cast<const Event*>(event)->time : Clock::time_point(); }
void refuse_captured_event(const void* event) {
  if (event) refuse_if_captured(static_cast<const Event*>(event)->mark);
}

void wait_for_work_before(const void* event) {
  if (event && static_cast<const Event*>(event)->moment) wait_for(*static_cast<const Event*>(event)->moment);
}

Stream stream(Device device, c10::StreamId id) { return Stream(Stream::UNSAFE, device, id); }

struct GuardOfAll : c10::impl::DeviceGuardImplInterface {
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
  void synchronizeDevice(const DeviceIndex index) const override {
    open_context(checked(index));
    wait_for_device(checked(index));
  }

  Stream getStream(Device of) const override { return current_stream(checked(of.index())); }
  Stream getDefaultStream(Device of) const override { return stream(device(checked(of.index())), 0); }
  Stream getStreamFromGlobalPool(Device of, bool high) const override { return getNewStream(of, high ? -1 : 0); }
  Stream getNewStream(Device of, int priority) const override {
    c10::StreamId level = level_of(priority);
    DeviceIndex index = checked(of.index());
    uint32_t before = given[size_t(index)][size_t(level)]++;
    c10::StreamId id = kFirst + level * kStreams + before % kStreams;
    if (before < kStreams) trace(&Table::trace_gpu_stream_creation, id);
    return stream(device(index), id);
  }
  Stream exchangeStream(Stream wanted) const override {
    DeviceIndex index = checked(wanted.device_index());
    return stream(device(index), std::exchange(current_streams[size_t(index)], wanted.id()));
  }
  bool queryStream(const Stream& which) const override {
    RecordedCall recorded("cudaStreamQuery");
    refuse_if_lost();
    refuse_if_captured(which);
    refuse_unsafe_call();
    if (!is_past(idle_at(which))) return false;
    if (is_order_watched()) wait_for_work_of(which);
    return true;
  }
  void synchronizeStream(const Stream& which) const override { wait_for(which); }

  void record(void** event, const Stream& which, const DeviceIndex, const c10::EventFlag) const override {
    RecordedCall recorded_call("cudaEventRecordWithFlags");
    open_context(which.device_index());
    if (!*event) {
      *event = new Event;
      trace(&Table::trace_gpu_event_creation, *event);
    }
    trace(&Table::trace_gpu_event_record, *event, which.id());
    auto* recorded = static_cast<Event*>(*event);
    recorded->time = std::max(Clock::now(), idle_at(which));
    recorded->mark = recorded->external ? Mark{} : mark_on(which);
    if (is_order_watched()) recorded->moment = moment_on(which);
  }
  void block(void* event, const Stream& which) const override {
    if (!event) return;
    RecordedCall recorded("cudaStreamWaitEvent");
    trace(&Table::trace_gpu_event_wait, event, which.id());
    if (auto* awaited = static_cast<Event*>(event); !awaited->external) {
      come_after(which, awaited->mark);
      if (awaited->moment) come_after(which, *awaited->moment);
    }
    if (!is_past(time_of(event))) sleep_until(which, time_of(event));
  }
  bool queryEvent(void* event) const override {
    RecordedCall recorded("cudaEventQuery");
    refuse_if_lost();
    refuse_captured_event(event);
    refuse_unsafe_call();
    if (!is_past(time_of(event))) return false;
    wait_for_work_before(event);
    return true;
  }
  void synchronizeEvent(void* event) const override {
    RecordedCall recorded("cudaEventSynchronize");
    refuse_if_lost();
    refuse_captured_event(event);
    refuse_unsafe_call();
    if (event) trace(&Table::trace_gpu_event_synchronization, event);
    wait_until(time_of(event));
    wait_for_work_before(event);
  }
  void destroyEvent(void* event, const DeviceIndex) const noexcept override {
    if (event) trace(&Table::trace_gpu_event_deletion, event);
    delete static_cast<Event*>(event);
  }
  double elapsedTime(void* from, void* to, const DeviceIndex) const override { return elapsed_time(from, to); }
  void recordDataPtrOnStream(const c10::DataPtr& data, const Stream& which) const override {
    allocator()->recordStream(data, which);
  }
};

// Functions that some supported releases of torch lack, each in a class that is empty there.
template <class Base>
struct WithNativeHandle : Base {};
template <class Base>
  requires requires(const Base& base, Stream stream) { base.getStreamNativeHandle(stream); }
struct WithNativeHandle<Base> : Base {  // torch 2.11
  void* getStreamNativeHandle(const Stream which) const override { return reinterpret_cast<void*>(which.id()); }
};

template <class Base>
struct WithCapture : Base {};
template <class Base>
  requires requires(const Base& base, Stream stream) { base.isStreamCapturing(stream); }
struct WithCapture<Base> : Base {  // torch 2.12
  bool isStreamCapturing(const Stream& which) const override { return is_capturing(which); }
};

using Guard = WithCapture<WithNativeHandle<GuardOfAll>>;

}  // namespace

Stream current_stream(DeviceIndex index) {
  return stream(device(index), current_stream_id(index));
}
c10::StreamId current_stream_id(DeviceIndex index) { return current_streams.at(size_t(index)); }

double elapsed_time(const void* from, const void* to) {
  for (const void* event : {from, to}) refuse_captured_event(event);
  if (!is_past(time_of(from)) || !is_past(time_of(to))) refuse(kNotReady);
  auto passed = time_of(to) - time_of(from);
  return std::chrono::duration<double, std::milli>(passed).count();
}

void make_external(size_t event) {
  auto* made = reinterpret_cast<Event*>(event);
  made->external = true;
  made->mark = {};
}

int64_t event_time(size_t event) { return time_of(reinterpret_cast<void*>(event)).time_since_epoch().count(); }
void set_event_time(size_t event, int64_t time) {
  reinterpret_cast<Event*>(event)->time = Clock::time_point(Clock::duration(time));
}

int stream_priority(c10::StreamId id) {
  if (is_of_pool(id)) return -int((id - kFirst) / kStreams);
  return is_made(id) ? -int(id % kPriorities) : 0;
}

bool is_made(c10::StreamId id) {
  if (id < kFirstMade) return false;
  std::lock_guard lock(making);
  return made.count(id);
}

c10::StreamId make_stream(int priority) {
  std::lock_guard lock(making);
  return *made.insert(kFirstMade + count_of_made++ * kPriorities + level_of(priority)).first;
}

std::pair<int64_t, int64_t> handles() {
  std::lock_guard<std::mutex> lock(making);
  return {events, int64_t(made.size())};
}

bool end_stream(c10::StreamId id) {
  if (is_given(id)) return true;  // torch's own goes on
  std::lock_guard lock(making);
  return made.erase(id);
}

bool is_stream(c10::StreamId id) { return (id >= 0 && id < kDefaults) || is_given(id) || is_made(id); }

c10::StreamId stream_of_handle(intptr_t handle) { return handle > 0 && handle < kDefaults ? 0 : handle; }

void install_guard() { c10::impl::DeviceGuardImplRegistrar(settings().type, new Guard); }

}  // namespace software
