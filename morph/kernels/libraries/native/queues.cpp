// See queues.h.
#include "queues.h"

#include "machine.h"
#include "state.h"

#include <algorithm>
#include <cstring>

namespace queues {
namespace {

constexpr unsigned kNotTimed = 2, kBetweenProcesses = 4;  // flags of an event

using state::Event;
using Lock = std::lock_guard<std::mutex>;
constexpr size_t kKept = 1024;       // freed events

bool may_be_event(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % alignof(void*) == 0 && memory::is_mapped(pointer);
}

Event about(const void* event) {
  auto& events = state::all().events;
  Lock lock(state::all().queues);
  auto found = events.find(event);
  return found == events.end() ? Event{0, true} : found->second;
}

}  // namespace

bool is_stream(const void* stream) { return machine::is_stream(stream); }

bool is_event(const void* event) {
  if (!event) return false;
  auto& freed = state::all().freed;
  Lock lock(state::all().queues);
  if (state::all().events.count(event)) return true;
  return std::find(freed.begin(), freed.end(), event) == freed.end() && may_be_event(event);  // else torch's own
}

int new_stream(void** stream, unsigned flags, int priority) {
  if (!stream || flags > 1) return machine::kInvalidValue;
  if (int code = machine::use()) return code;
  *stream = machine::new_stream(priority);
  Lock lock(state::all().queues);
  state::all().streams[*stream] = flags;
  return 0;
}

int free_stream(void* stream) {
  if (!machine::free_stream(stream)) return machine::kInvalidHandle;
  Lock lock(state::all().queues);
  state::all().streams.erase(stream);
  return 0;
}

unsigned stream_flags(const void* stream) {
  Lock lock(state::all().queues);
  auto& streams = state::all().streams;
  auto found = streams.find(stream);
  return found == streams.end() ? 0 : found->second;
}

int wait_for_stream(const void* stream) {
  if (!is_stream(stream)) return machine::kInvalidHandle;
  if (int code = machine::use()) return code;
  if (int code = state::pending()) return code;
  if (int code = machine::synchronize_stream(stream)) return code;
  machine::settle();
  return 0;
}

int wait_for_device() {
  if (int code = machine::use()) return code;
  if (int code = state::pending()) return code;
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
  Lock lock(state::all().queues);
  state::all().events[*event] = {flags, false};
  return 0;
}

int free_event(void* event) {
  auto& freed = state::all().freed;
  Lock lock(state::all().queues);
  if (!state::all().events.erase(event)) return machine::kInvalidHandle;  // torch frees its own
  freed.push_back(event);
  if (freed.size() <= kKept) return 0;
  machine::free_event(freed.front());
  freed.pop_front();
  return 0;
}

int record(void* event, void* stream) {
  if (!is_event(event) || !is_stream(stream)) return machine::kInvalidHandle;
  if (int code = machine::use()) return code;
  if (int code = machine::record_event(&event, stream)) return code;
  Lock lock(state::all().queues);
  auto& events = state::all().events;
  auto found = events.find(event);
  if (found != events.end()) found->second.recorded = true;
  return 0;
}

int elapsed(float* milliseconds, void* from, void* to) {
  if (!milliseconds) return machine::kInvalidValue;
  if (!is_event(from) || !is_event(to)) return machine::kInvalidHandle;
  for (void* event : {from, to})
    if (Event known = about(event); !known.recorded || (known.flags & kNotTimed)) return machine::kInvalidHandle;
  return machine::elapsed(from, to, milliseconds);
}

int wait_for_event(void* event) {
  return is_event(event) ? machine::synchronize_event(event) : int(machine::kInvalidHandle);
}
int query_event(void* event) { return is_event(event) ? machine::query_event(event) : int(machine::kInvalidHandle); }
int await_event(const void* stream, void* event) {
  if (!is_event(event) || !is_stream(stream)) return machine::kInvalidHandle;
  return about(event).recorded ? machine::await_event(stream, event) : 0;
}
int call(void* stream, void (*function)(void*), void* data) {
  if (!function) return machine::kInvalidValue;
  if (int code = wait_for_stream(stream)) return code;
  function(data);
  return 0;
}
int call_back(void* stream, Callback function, void* data) {
  if (!function) return machine::kInvalidValue;
  if (int code = wait_for_stream(stream)) return code;
  function(stream, 0, data);
  return 0;
}
int query_stream(const void* stream) {
  return is_stream(stream) ? machine::query_stream(stream) : int(machine::kInvalidHandle);
}

// The event's time by the clock that all processes share, as torch.cuda.Event.ipc_handle() gives it.
int share(memory::Handle* handle, void* event) {
  if (!is_event(event)) return machine::kInvalidHandle;
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
