// The device for libraries in C that have no headers of torch's: addresses of functions with plain types.
// Those that may fail return an error code of CUDA's runtime, 0 for success.
#include <Python.h>

#include "device/captures.h"
#include "device/clock.h"
#include "device/errors.h"
#include "device/order.h"
#include "memory/addresses.h"
#include "memory/hidden.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <mutex>

namespace software {
namespace {

template <typename Do>
int code_of(Do action) noexcept {
  try {
    action();
    return 0;
  } catch (const c10::OutOfMemoryError&) {
    return kMemoryAllocation;
  } catch (const std::exception&) {
    return is_any_capturing() ? kCaptureUnsupported : kInitializationError;
  }
}

bool exists(int index) { return index >= 0 && index < settings().count; }
const c10::impl::DeviceGuardImplInterface& guard() { return *c10::impl::getDeviceGuardImpl(settings().type); }

int use() {
  return code_of([] {
    initialize();
    open_context(current_device());
  });
}

int initialized() { return is_initialized(); }
int count() { return settings().count; }
int get_device() { return current_device(); }
int set_device(int index) {
  if (!exists(index)) return kInvalidDevice;
  return code_of([&] {
    initialize();
    set_current_device(c10::DeviceIndex(index));
    open_context(c10::DeviceIndex(index));
  });
}
int is_used(int index) { return exists(index) && has_context(c10::DeviceIndex(index)); }
int synchronize_device() { return code_of([] { guard().synchronizeDevice(current_device()); }); }

void* take(int index, size_t bytes) { return take_outside(c10::DeviceIndex(index), bytes); }
void show_managed(const void* pointer) { show(*segment_of(pointer)); }
void* usable_at(const void* pointer) { return usable(pointer); }
int give_back(void* pointer) { return give_back_outside(pointer) ? 0 : kInvalidValue; }
int owner(const void* pointer) { return owner_of(pointer); }
const void* segment(const void* pointer, size_t* bytes) {
  auto [start, size] = segment_around(pointer);
  *bytes = size;
  return start;
}
int place(const void* pointer, int* file, size_t* offset) {
  return code_of([&] {
    auto [descriptor, segment, inside] = place_in_file(pointer);
    *file = descriptor, *offset = segment;
  });
}
void memory_info(int index, size_t* free, size_t* total) {
  auto [left, all] = allocator()->getMemoryInfo(c10::DeviceIndex(index));
  *free = left, *total = all;
}
int pinned(const void* pointer) { return is_pinned(pointer); }

// A stream's handle is its number, as in torch.cuda.Stream.cuda_stream; it belongs to the current device.
c10::Stream stream_of(const void* handle) {
  return c10::Stream(c10::Stream::UNSAFE, device(current_device()), stream_of_handle(reinterpret_cast<intptr_t>(handle)));
}
const void* new_stream(int priority) { return reinterpret_cast<const void*>(make_stream(priority)); }
int free_stream(const void* stream) { return end_stream(reinterpret_cast<intptr_t>(stream)); }
int known_stream(const void* stream) { return is_stream(reinterpret_cast<intptr_t>(stream)); }
int synchronize_stream(const void* stream) { return code_of([&] { guard().synchronizeStream(stream_of(stream)); }); }
template <typename Ask>
int answer_of(Ask ask) noexcept {
  bool answer = false;
  int code = code_of([&] { answer = ask(); });
  return code || answer ? code : int(kNotReady);
}
int query_stream(const void* stream) { return answer_of([&] { return guard().queryStream(stream_of(stream)); }); }
int priority_of_stream(const void* stream) { return stream_priority(stream_of(stream).id()); }
int capturing(const void* stream) { return is_capturing(stream_of(stream)); }
int refused_in_capture() { return code_of([] { refuse_in_capture(); }); }

// An event's handle is the address that torch.cuda.Event.cuda_event has.
int record_event(void** event, const void* stream) {
  return code_of([&] { guard().record(event, stream_of(stream), current_device(), c10::EventFlag::BACKEND_DEFAULT); });
}
int await_event(const void* stream, void* event) { return code_of([&] { guard().block(event, stream_of(stream)); }); }
int query_event(void* event) { return answer_of([&] { return guard().queryEvent(event); }); }
int synchronize_event(void* event) { return code_of([&] { guard().synchronizeEvent(event); }); }
void free_event(void* event) { guard().destroyEvent(event, current_device()); }
int elapsed(void* from, void* to, float* milliseconds) {
  if (query_event(from) || query_event(to)) return kNotReady;
  return code_of([&] { *milliseconds = float(elapsed_time(from, to)); });
}
int64_t time_of_event(const void* event) { return event_time(reinterpret_cast<size_t>(event)); }
void set_time_of_event(void* event, int64_t time) { set_event_time(reinterpret_cast<size_t>(event), time); }

std::mutex untold_mutex;
std::string& untold = *new std::string;

int tell(void*) {
  std::lock_guard<std::mutex> lock(untold_mutex);
  PyErr_SetString(PyExc_RuntimeError, untold.c_str());
  return -1;
}

// What a library in C cannot throw comes with the next call in the main thread.
template <typename Do>
void told_later(Do action) noexcept {
  try {
    action();
  } catch (const c10::Error& error) {
    std::lock_guard<std::mutex> lock(untold_mutex);
    untold = error.what_without_backtrace();
    Py_AddPendingCall(&tell, nullptr);
  }
}

int watches_order() { return is_order_watched(); }
void begin_call(const LibraryCall* call, const Use* use) {
  told_later([&] { prepare_call(*call, *use); });
}
void end_call(const LibraryCall* call, const Use* uses, size_t count) {
  told_later([&] { queue_call(*call, uses, count); });
}

template <typename Function>
size_t address(Function* function) {
  return reinterpret_cast<size_t>(function);
}

}  // namespace

std::map<std::string, size_t> interface() {
  return {{"use", address(&use)},
          {"is_initialized", address(&initialized)},
          {"count", address(&count)},
          {"get_device", address(&get_device)},
          {"set_device", address(&set_device)},
          {"is_used", address(&is_used)},
          {"synchronize_device", address(&synchronize_device)},
          {"take", address(&take)},
          {"give_back", address(&give_back)},
          {"show", address(&show_managed)},
          {"usable", address(&usable_at)},
          {"owner", address(&owner)},
          {"segment", address(&segment)},
          {"place", address(&place)},
          {"memory_info", address(&memory_info)},
          {"pin", address(&register_host_memory)},
          {"unpin", address(&unregister_host_memory)},
          {"is_pinned", address(&pinned)},
          {"new_stream", address(&new_stream)},
          {"free_stream", address(&free_stream)},
          {"is_stream", address(&known_stream)},
          {"synchronize_stream", address(&synchronize_stream)},
          {"query_stream", address(&query_stream)},
          {"priority_of_stream", address(&priority_of_stream)},
          {"is_capturing", address(&capturing)},
          {"refused_in_capture", address(&refused_in_capture)},
          {"record_event", address(&record_event)},
          {"await_event", address(&await_event)},
          {"query_event", address(&query_event)},
          {"synchronize_event", address(&synchronize_event)},
          {"free_event", address(&free_event)},
          {"elapsed", address(&elapsed)},
          {"time_of_event", address(&time_of_event)},
          {"set_time_of_event", address(&set_time_of_event)},
          {"is_order_watched", address(&watches_order)},
          {"begin_call", address(&begin_call)},
          {"end_call", address(&end_call)}};
}

}  // namespace software
