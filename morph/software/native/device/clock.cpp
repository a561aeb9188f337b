// See clock.h.
#include "device/clock.h"

#include "device/activities.h"
#include "device/assertions.h"
#include "device/captures.h"
#include "device/errors.h"
#include "device/trace.h"
#include "device/order.h"

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

namespace software {
namespace {

using c10::DeviceIndex;
using c10::Stream;

std::mutex mutex;
std::map<Queue, Clock::time_point>& sleeping = *new std::map<Queue, Clock::time_point>;
std::atomic<Clock::rep> last{0};  // until when any queue sleeps
std::atomic<Waits> mode{Waits::kAllowed};
std::array<std::atomic<bool>, 128> contexts{};

bool anything_sleeps() { return last.load() && !is_past(Clock::time_point(Clock::duration(last.load()))); }

void note_wait(Stream stream) {
  refuse_if_captured(stream);
  refuse_unsafe_call();
  if (mode == Waits::kRefused) TORCH_CHECK(false, "called a synchronizing ", settings().title, " operation");
  if (mode == Waits::kWarned) TORCH_WARN("called a synchronizing ", settings().title, " operation");
}

}  // namespace

bool is_past(Clock::time_point time) { return time <= Clock::now(); }

void wait_until(Clock::time_point time) {
  if (!is_past(time)) std::this_thread::sleep_until(time);
}

void sleep_on(Stream stream, Clock::duration time) { sleep_until(stream, std::max(Clock::now(), idle_at(stream)) + time); }

void sleep_until(Stream stream, Clock::time_point time) {
  std::lock_guard<std::mutex> lock(mutex);
  auto& until = sleeping[queue(stream)];
  until = std::max(until, time);
  last = std::max(last.load(), until.time_since_epoch().count());
}

Clock::time_point idle_at(Stream stream) {
  if (!anything_sleeps()) return {};
  std::lock_guard<std::mutex> lock(mutex);
  auto found = sleeping.find(queue(stream));
  return found == sleeping.end() ? Clock::time_point() : found->second;
}

void watch_waits(Waits waits) { mode = waits; }
Waits watched_waits() { return mode; }
bool is_watched() {
  return is_any_capturing() || is_order_watched() || mode != Waits::kAllowed || anything_sleeps() || is_traced() ||
         is_profiled() || context_in_doubt.load(std::memory_order_relaxed);
}

void wait_for(Stream stream) {
  RecordedCall recorded("cudaStreamSynchronize");
  refuse_if_lost();
  trace(&Table::trace_gpu_stream_synchronization, stream.id());
  if (!is_watched()) return;
  note_wait(stream);
  wait_until(idle_at(stream));
  if (is_order_watched()) wait_for_work_of(stream);
}

void wait_for_device(DeviceIndex index) {
  RecordedCall recorded("cudaDeviceSynchronize");
  refuse_if_lost();
  refuse_waiting_for(index);
  refuse_unsafe_call();
  trace(&Table::trace_gpu_device_synchronization);
  if (is_order_watched()) wait_for_work_of(index);
  if (!anything_sleeps()) return;
  Clock::time_point until{};
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto& [queue, time] : sleeping)
      if (queue.first == index) until = std::max(until, time);
  }
  wait_until(until);
}

void wait_for_copy(DeviceIndex index) {
  if (is_watched()) wait_for(current_stream(index));
}

void open_context(DeviceIndex index) {
  refuse_if_lost();
  std::atomic<bool>& context = contexts.at(size_t(index));
  if (!context) context = true;  // at each allocation: a write would be slower
}
bool has_context(DeviceIndex index) { return contexts.at(size_t(checked(index))); }

}  // namespace software
