// See queues.h.
#include "queues.h"

#include "machine.h"

#include <cstring>
#include <map>
#include <mutex>

namespace queues {
namespace {

constexpr unsigned kNotTimed = 2, kBetweenProcesses = 4;  // flags of an event

struct Event {
  unsigned flags;
  bool recorded;
};

std::mutex mutex;
std::map<const void*, Event>& events = *new std::map<const void*, Event>;  // not those that torch has made
std::map<const void*, unsigned>& streams = *new std::map<const void*, unsigned>;

Event about(const void* event) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = events.find(event);
  return found == events.end() ? Event{0, true} : found->second;
}

}  // namespace

int new_stream(void** stream, unsigned flags, int priority) {
  if (!stream || flags > 1) return machine::kInvalidValue;
  if (int code = machine::use()) return code;
  *stream = machine::new_stream(priority);
  std::lock_guard<std::mutex> lock(mutex);
  streams[*stream] = flags;
  return 0;
}

int free_stream(void* stream) {
  if (!stream) return machine::kInvalidHandle;
  std::lock_guard<std::mutex> lock(mutex);
  streams.erase(stream);  // the stream itself is one of a fixed number, and goes on
  return 0;
}

unsigned stream_flags(const void* stream) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = streams.find(stream);
  return found == streams.end() ? 0 : found->second;
}

int wait_for_stream(const void* stream) {
  if (int code = machine::use()) return code;
  if (int code = machine::synchronize_stream(stream)) return code;
  machine::settle();
  return 0;
}

int wait_for_device() {
  if (int code = machine::use()) return code;
  if (int code = machine::synchronize_device()) return code;
  machine::settle();
  return 0;
}

// The device makes an event when it records one.
int new_event(void** event, unsigned flags) {
  if (!event || flags > 7 || ((flags & kBetweenProcesses) && !(flags & kNotTimed))) return machine::kInvalidValue;
  if (int code = machine::use()) return code;
  *event = nullptr;
  if (int code = machine::record_event(event, nullptr)) return code;
  machine::set_time_of_event(*event, 0);
  std::lock_guard<std::mutex> lock(mutex);
  events[*event] = {flags, false};
  return 0;
}

int free_event(void* event) {
  if (!event) return machine::kInvalidHandle;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!events.erase(event)) return machine::kInvalidHandle;  // torch frees its own
  }
  machine::free_event(event);
  return 0;
}

int record(void* event, void* stream) {
  if (!event) return machine::kInvalidHandle;
  if (int code = machine::record_event(&event, stream)) return code;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = events.find(event);
  if (found != events.end()) found->second.recorded = true;
  return 0;
}

int elapsed(float* milliseconds, void* from, void* to) {
  if (!milliseconds) return machine::kInvalidValue;
  if (!from || !to) return machine::kInvalidHandle;
  for (void* event : {from, to})
    if (Event known = about(event); !known.recorded || (known.flags & kNotTimed)) return machine::kInvalidHandle;
  return machine::elapsed(from, to, milliseconds);
}

int wait_for_event(void* event) { return event ? machine::synchronize_event(event) : int(machine::kInvalidHandle); }

// The event's time by the clock that all processes share, as torch.cuda.Event.ipc_handle() gives it.
int share(memory::Handle* handle, void* event) {
  if (!event) return machine::kInvalidHandle;
  if (!handle || !(about(event).flags & kBetweenProcesses)) return machine::kInvalidValue;
  int64_t time = machine::time_of_event(event);
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &time, sizeof time);
  return 0;
}

int open(void** event, const memory::Handle& handle) {
  if (int code = new_event(event, kNotTimed | kBetweenProcesses)) return code;
  int64_t time = 0;
  std::memcpy(&time, &handle, sizeof time);
  machine::set_time_of_event(*event, time);
  return 0;
}

}  // namespace queues
