// The functions of libcudart that the software device has of its own.
#include "library.h"
#include "machine.h"
#include "memory.h"
#include "peers.h"
#include "queues.h"
#include "transfers.h"

#include <utility>

namespace {

using library::noted;
using memory::Handle;
using transfers::Order;
using Stream = void*;
using Event = void*;

constexpr int kPriority = -3;  // the greatest

// Devices.
int set_device(int index) { return noted(machine::set_device(index)); }
int get_device(int* index) {
  if (!index) return noted(machine::kInvalidValue);
  *index = machine::get_device();
  return 0;
}
int count_devices(int* count) {
  if (!count) return noted(machine::kInvalidValue);
  *count = machine::count();
  return noted(*count ? 0 : int(machine::kNoDevice));
}
int init_device(int index, unsigned, unsigned) {
  return noted(machine::exists(index) ? machine::use() : int(machine::kInvalidDevice));
}
int synchronize() { return noted(queues::wait_for_device()); }
int reset() {
  int code = queues::wait_for_device();
  return noted(code ? code : memory::free_all());
}
int priorities(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = kPriority;
  return 0;
}

int can_access(int* answer, int device, int peer) { return noted(peers::can_access(answer, device, peer)); }
int enable_access(int peer, unsigned flags) { return noted(peers::enable(peer, flags)); }
int disable_access(int peer) { return noted(peers::disable(peer)); }

thread_local int capture_mode = 0;
int exchange_capture_mode(int* mode) {
  if (!mode || *mode < 0 || *mode > 2) return noted(machine::kInvalidValue);
  std::swap(*mode, capture_mode);
  return 0;
}

// Memory.
int allocate(void** pointer, size_t bytes) { return noted(memory::allocate(pointer, bytes)); }
int allocate_async(void** pointer, size_t bytes, Stream) { return allocate(pointer, bytes); }
int allocate_managed(void** pointer, size_t bytes, unsigned) { return noted(memory::allocate_managed(pointer, bytes)); }
int allocate_pitched(void** pointer, size_t* pitch, size_t width, size_t height) {
  return noted(memory::allocate_pitched(pointer, pitch, width, height));
}
int free_device(void* pointer) { return noted(memory::free(pointer)); }
int free_async(void* pointer, Stream stream) {
  int code = queues::wait_for_stream(stream);
  return noted(code ? code : memory::free(pointer));
}
int memory_info(size_t* free, size_t* total) {
  if (!free || !total) return noted(machine::kInvalidValue);
  if (int code = machine::use()) return noted(code);
  machine::memory_info(machine::get_device(), free, total);
  return 0;
}

int allocate_host(void** pointer, size_t bytes, unsigned flags) {
  return noted(memory::allocate_pinned(pointer, bytes, flags));
}
int allocate_plain_host(void** pointer, size_t bytes) { return allocate_host(pointer, bytes, 0); }
int free_host(void* pointer) { return noted(memory::free_pinned(pointer)); }
int register_host(void* pointer, size_t bytes, unsigned) { return noted(memory::pin(pointer, bytes)); }
int unregister_host(void* pointer) { return noted(memory::unpin(pointer)); }
int device_pointer(void** device, void* host, unsigned flags) {
  if (!device || flags || !machine::is_pinned(host)) return noted(machine::kInvalidValue);
  *device = host;
  return 0;
}
int host_flags(unsigned* flags, void* host) {
  if (!flags || !machine::is_pinned(host)) return noted(machine::kInvalidValue);
  *flags = memory::flags(host);
  return 0;
}

struct Attributes {
  int type, device;
  void *device_pointer, *host_pointer;
};
int attributes(Attributes* attributes, const void* pointer) {
  if (!attributes || !pointer) return noted(machine::kInvalidValue);
  auto kind = memory::kind(pointer);
  auto* same = const_cast<void*>(pointer);
  bool known = kind != memory::kUnregistered;
  int device = kind == memory::kHost ? machine::get_device() : memory::device(pointer);
  *attributes = {kind, known ? device : -2, known ? same : nullptr, kind == memory::kDevice ? nullptr : same};
  return 0;
}

int share_memory(Handle* handle, void* pointer) { return noted(memory::share(handle, pointer)); }
int open_memory(void** pointer, Handle handle, unsigned flags) {
  return noted(flags == 1 ? memory::open(pointer, handle) : int(machine::kInvalidValue));
}
int close_memory(void* pointer) { return noted(memory::close(pointer)); }

// Copies and fills.
int copy(void* to, const void* from, size_t bytes, int direction) {
  return noted(transfers::copy(to, from, bytes, direction, {}));
}
int copy_async(void* to, const void* from, size_t bytes, int direction, Stream stream) {
  return noted(transfers::copy(to, from, bytes, direction, Order{stream, false}));
}
int copy_peer(void* to, int, const void* from, int, size_t bytes) {
  return copy(to, from, bytes, transfers::kDeviceToDevice);
}
int copy_peer_async(void* to, int, const void* from, int, size_t bytes, Stream stream) {
  return copy_async(to, from, bytes, transfers::kDeviceToDevice, stream);
}
int rows(void* to, size_t pitch, const void* from, size_t from_pitch, size_t width, size_t height, int direction,
         Order order) {
  return noted(transfers::copy_rows({static_cast<char*>(to), pitch}, {static_cast<const char*>(from), from_pitch},
                                    width, height, direction, order));
}
int copy_2d(void* to, size_t pitch, const void* from, size_t from_pitch, size_t width, size_t height, int direction) {
  return rows(to, pitch, from, from_pitch, width, height, direction, {});
}
int copy_2d_async(void* to, size_t pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                  int direction, Stream stream) {
  return rows(to, pitch, from, from_pitch, width, height, direction, Order{stream, false});
}
int fill(void* to, int value, size_t bytes) { return noted(transfers::fill(to, 1, unsigned(value), bytes, {})); }
int fill_async(void* to, int value, size_t bytes, Stream stream) {
  return noted(transfers::fill(to, 1, unsigned(value), bytes, Order{stream, false}));
}
int fill_2d(void* to, size_t pitch, int value, size_t width, size_t height) {
  return noted(transfers::fill_rows({static_cast<char*>(to), pitch}, 1, unsigned(value), width, height, {}));
}
int fill_2d_async(void* to, size_t pitch, int value, size_t width, size_t height, Stream stream) {
  return noted(
      transfers::fill_rows({static_cast<char*>(to), pitch}, 1, unsigned(value), width, height, Order{stream, false}));
}

// Streams and events.
int new_stream(Stream* stream) { return noted(queues::new_stream(stream, 0, 0)); }
int new_stream_with_flags(Stream* stream, unsigned flags) { return noted(queues::new_stream(stream, flags, 0)); }
int new_stream_with_priority(Stream* stream, unsigned flags, int priority) {
  return noted(queues::new_stream(stream, flags, priority));
}
int free_stream(Stream stream) { return noted(queues::free_stream(stream)); }
int wait_for_stream(Stream stream) { return noted(queues::wait_for_stream(stream)); }
int unless_busy(int code) { return code == machine::kNotReady ? code : noted(code); }  // which is no error to keep
int query_stream(Stream stream) { return unless_busy(queues::query_stream(stream)); }
int stream_flags(Stream stream, unsigned* flags) {
  return noted(queues::answer(stream, flags, queues::stream_flags(stream)));
}
int stream_priority(Stream stream, int* priority) {
  return noted(queues::answer(stream, priority, machine::priority_of_stream(stream)));
}
int stream_identity(Stream stream, unsigned long long* identity) {
  return noted(queues::answer(stream, identity, static_cast<unsigned long long>(size_t(stream))));
}
int stream_device(Stream, int* device) { return get_device(device); }
int is_capturing(Stream stream, int* status) {
  return noted(queues::answer(stream, status, int(machine::is_capturing(stream))));
}
int await_event(Stream stream, Event event, unsigned) {
  return noted(queues::await_event(stream, event));
}
int call(Stream stream, void (*function)(void*), void* data) {
  return noted(queues::call(stream, function, data));
}
int call_back(Stream stream, queues::Callback function, void* data, unsigned) {
  return noted(queues::call_back(stream, function, data));
}

int new_event(Event* event) { return noted(queues::new_event(event, 0)); }
int new_event_with_flags(Event* event, unsigned flags) { return noted(queues::new_event(event, flags)); }
int free_event(Event event) { return noted(queues::free_event(event)); }
int record(Event event, Stream stream) { return noted(queues::record(event, stream)); }
int record_with_flags(Event event, Stream stream, unsigned) { return record(event, stream); }
int query_event(Event event) { return unless_busy(queues::query_event(event)); }
int wait_for_event(Event event) { return noted(queues::wait_for_event(event)); }
int elapsed(float* milliseconds, Event from, Event to) { return noted(queues::elapsed(milliseconds, from, to)); }
int share_event(Handle* handle, Event event) { return noted(queues::share(handle, event)); }
int open_event(Event* event, Handle handle) { return noted(queues::open(event, handle)); }

int take_error() { return library::last_error(true); }
int peek_at_error() { return library::last_error(false); }

}  // namespace

namespace library {

const Functions& own() {
  static const Functions all{
      {"cudaSetDevice", address(&set_device)},
      {"cudaGetDevice", address(&get_device)},
      {"cudaGetDeviceCount", address(&count_devices)},
      {"cudaInitDevice", address(&init_device)},
      {"cudaDeviceSynchronize", address(&synchronize)},
      {"cudaThreadSynchronize", address(&synchronize)},
      {"cudaDeviceReset", address(&reset)},
      {"cudaThreadExit", address(&reset)},
      {"cudaDeviceGetStreamPriorityRange", address(&priorities)},
      {"cudaDeviceCanAccessPeer", address(&can_access)},
      {"cudaDeviceEnablePeerAccess", address(&enable_access)},
      {"cudaDeviceDisablePeerAccess", address(&disable_access)},
      {"cudaThreadExchangeStreamCaptureMode", address(&exchange_capture_mode)},
      {"cudaMalloc", address(&allocate)},
      {"cudaMallocAsync", address(&allocate_async)},
      {"cudaMallocManaged", address(&allocate_managed)},
      {"cudaMallocPitch", address(&allocate_pitched)},
      {"cudaFree", address(&free_device)},
      {"cudaFreeAsync", address(&free_async)},
      {"cudaMemGetInfo", address(&memory_info)},
      {"cudaHostAlloc", address(&allocate_host)},
      {"cudaMallocHost", address(&allocate_plain_host)},
      {"cudaFreeHost", address(&free_host)},
      {"cudaHostRegister", address(&register_host)},
      {"cudaHostUnregister", address(&unregister_host)},
      {"cudaHostGetDevicePointer", address(&device_pointer)},
      {"cudaHostGetFlags", address(&host_flags)},
      {"cudaPointerGetAttributes", address(&attributes)},
      {"cudaIpcGetMemHandle", address(&share_memory)},
      {"cudaIpcOpenMemHandle", address(&open_memory)},
      {"cudaIpcCloseMemHandle", address(&close_memory)},
      {"cudaMemcpy", address(&copy)},
      {"cudaMemcpyAsync", address(&copy_async)},
      {"cudaMemcpyPeer", address(&copy_peer)},
      {"cudaMemcpyPeerAsync", address(&copy_peer_async)},
      {"cudaMemcpy2D", address(&copy_2d)},
      {"cudaMemcpy2DAsync", address(&copy_2d_async)},
      {"cudaMemset", address(&fill)},
      {"cudaMemsetAsync", address(&fill_async)},
      {"cudaMemset2D", address(&fill_2d)},
      {"cudaMemset2DAsync", address(&fill_2d_async)},
      {"cudaStreamCreate", address(&new_stream)},
      {"cudaStreamCreateWithFlags", address(&new_stream_with_flags)},
      {"cudaStreamCreateWithPriority", address(&new_stream_with_priority)},
      {"cudaStreamDestroy", address(&free_stream)},
      {"cudaStreamSynchronize", address(&wait_for_stream)},
      {"cudaStreamQuery", address(&query_stream)},
      {"cudaStreamGetFlags", address(&stream_flags)},
      {"cudaStreamGetPriority", address(&stream_priority)},
      {"cudaStreamGetId", address(&stream_identity)},
      {"cudaStreamGetDevice", address(&stream_device)},
      {"cudaStreamIsCapturing", address(&is_capturing)},
      {"cudaStreamWaitEvent", address(&await_event)},
      {"cudaLaunchHostFunc", address(&call)},
      {"cudaStreamAddCallback", address(&call_back)},
      {"cudaEventCreate", address(&new_event)},
      {"cudaEventCreateWithFlags", address(&new_event_with_flags)},
      {"cudaEventDestroy", address(&free_event)},
      {"cudaEventRecord", address(&record)},
      {"cudaEventRecordWithFlags", address(&record_with_flags)},
      {"cudaEventQuery", address(&query_event)},
      {"cudaEventSynchronize", address(&wait_for_event)},
      {"cudaEventElapsedTime", address(&elapsed)},
      {"cudaEventElapsedTime_v2", address(&elapsed)},
      {"cudaIpcGetEventHandle", address(&share_event)},
      {"cudaIpcOpenEventHandle", address(&open_event)},
      {"cudaGetLastError", address(&take_error)},
      {"cudaPeekAtLastError", address(&peek_at_error)}};
  return all;
}

}  // namespace library
