// The functions of libcuda that the software device has of its own: devices, contexts, streams and events.
#include "contexts.h"
#include "driver_memory.h"
#include "library.h"
#include "machine.h"
#include "peers.h"
#include "queues.h"

#include <atomic>
#include <utility>

namespace {

using contexts::Context;
using memory::Handle;
using Stream = void*;
using Event = void*;

constexpr int kPriority = -3;  // the greatest
constexpr unsigned kApi = 3020;

std::atomic<bool> initialized{false};  // by cuInit; the runtime initializes the driver too

int checked() { return initialized || machine::is_initialized() ? 0 : int(machine::kNotInitialized); }
int checked(int device) {
  if (int code = checked()) return code;
  return machine::exists(device) ? 0 : int(machine::kInvalidDevice);
}

int init(unsigned flags) {
  if (flags) return machine::kInvalidValue;
  if (!machine::count()) return machine::kNoDevice;
  initialized = true;
  return 0;
}
int device_of(int* device, int ordinal) {
  if (!device) return machine::kInvalidValue;
  *device = ordinal;
  return checked(ordinal);
}
int count_devices(int* count) {
  if (int code = checked()) return code;
  if (!count) return machine::kInvalidValue;
  *count = machine::count();
  return 0;
}
int total_memory(size_t* bytes, int device) {
  size_t free = 0;
  if (!bytes) return machine::kInvalidValue;
  if (int code = checked(device)) return code;
  machine::memory_info(device, &free, bytes);
  return 0;
}
int enable_access(Context context, unsigned flags) {
  int device = contexts::device(context);
  return device < 0 ? int(machine::kDeviceUninitialized) : peers::enable(device, flags);
}
int disable_access(Context context) { return peers::disable(contexts::device(context)); }

// Contexts.
int retain(Context* context, int device) {
  if (!context) return machine::kInvalidValue;
  if (int code = checked(device)) return code;
  int before = machine::get_device();
  if (int code = machine::set_device(device)) return code;  // which is a use of the device
  *context = contexts::of(device);
  return machine::set_device(before);
}
int release(int device) { return checked(device); }
int state(int device, unsigned* flags, int* active) {
  if (!flags || !active) return machine::kInvalidValue;
  if (int code = checked(device)) return code;
  *flags = 0;
  *active = machine::is_used(device);
  return 0;
}
int set_flags(int device, unsigned) { return checked(device); }
int create(Context* context, unsigned, int device) {
  if (int code = retain(context, device)) return code;
  return contexts::push(*context);
}
int create_with(Context* context, void*, int, unsigned flags, int device) { return create(context, flags, device); }
int create_by(Context* context, void*, unsigned flags, int device) { return create(context, flags, device); }
int destroy(Context context) {
  return contexts::device(context) < 0 ? int(machine::kDeviceUninitialized) : 0;
}
int current_device(int* device) {
  if (!device) return machine::kInvalidValue;
  *device = machine::get_device();
  return 0;
}
int device_of_context(int* device, Context context) {
  if (!device) return machine::kInvalidValue;
  if (!context) return current_device(device);
  *device = contexts::device(context);
  return *device < 0 ? int(machine::kDeviceUninitialized) : 0;
}
int synchronize() { return queues::wait_for_device(); }
int synchronize_context(Context context) {
  if (int code = contexts::push(context)) return code;
  int code = queues::wait_for_device();
  contexts::pop(nullptr);
  return code;
}
int api_version(Context, unsigned* version) { return queues::answer(nullptr, version, kApi); }
int priorities(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = kPriority;
  return 0;
}
int context_flags(unsigned* flags) { return queues::answer(nullptr, flags, 0u); }
int identity(Context context, unsigned long long* id) {
  int device = context ? contexts::device(context) : machine::get_device();
  if (device < 0) return machine::kDeviceUninitialized;
  return queues::answer(nullptr, id, 1ull + unsigned(device));
}

// Streams and events.
int new_stream(Stream* stream, unsigned flags) { return queues::new_stream(stream, flags, 0); }
int stream_flags(Stream stream, unsigned* flags) {
  return queues::answer(stream, flags, queues::stream_flags(stream));
}
int stream_priority(Stream stream, int* priority) {
  return queues::answer(stream, priority, machine::priority_of_stream(stream));
}
int stream_identity(Stream stream, unsigned long long* id) {
  return queues::answer(stream, id, static_cast<unsigned long long>(size_t(stream)));
}
int stream_context(Stream stream, Context* context) {
  return queues::answer(stream, context, contexts::of(machine::get_device()));
}
int stream_device(Stream, int* device) { return current_device(device); }
int is_capturing(Stream stream, int* status) {
  return queues::answer(stream, status, int(machine::is_capturing(stream)));
}
int await_event(Stream stream, Event event, unsigned) { return queues::await_event(stream, event); }
int call_back(Stream stream, queues::Callback function, void* data, unsigned) {
  return queues::call_back(stream, function, data);
}
thread_local int capture_mode = 0;
int exchange_capture_mode(int* mode) {
  if (!mode || *mode < 0 || *mode > 2) return machine::kInvalidValue;
  std::swap(*mode, capture_mode);
  return 0;
}

int record(Event event, Stream stream) { return queues::record(event, stream); }
int record_with_flags(Event event, Stream stream, unsigned) { return record(event, stream); }
int share_event(Handle* handle, Event event) { return queues::share(handle, event); }
int open_event(Event* event, Handle handle) { return queues::open(event, handle); }

}  // namespace

namespace library {

const Functions& own() {
  static const Functions all = [] {
    Functions functions{
        {"cuInit", address(&init)},
        {"cuDeviceGet", address(&device_of)},
        {"cuDeviceGetCount", address(&count_devices)},
        {"cuDeviceTotalMem", address(&total_memory)},
        {"cuDeviceCanAccessPeer", address(&peers::can_access)},
        {"cuCtxEnablePeerAccess", address(&enable_access)},
        {"cuCtxDisablePeerAccess", address(&disable_access)},
        {"cuDevicePrimaryCtxRetain", address(&retain)},
        {"cuDevicePrimaryCtxRelease", address(&release)},
        {"cuDevicePrimaryCtxReset", address(&release)},
        {"cuDevicePrimaryCtxGetState", address(&state)},
        {"cuDevicePrimaryCtxSetFlags", address(&set_flags)},
        {"cuCtxCreate", address(&create)},
        {"cuCtxCreate_v3", address(&create_with)},
        {"cuCtxCreate_v4", address(&create_by)},
        {"cuCtxDestroy", address(&destroy)},
        {"cuCtxDetach", address(&destroy)},
        {"cuCtxGetCurrent", address(&contexts::current)},
        {"cuCtxSetCurrent", address(&contexts::make_current)},
        {"cuCtxPushCurrent", address(&contexts::push)},
        {"cuCtxPopCurrent", address(&contexts::pop)},
        {"cuCtxGetDevice", address(&current_device)},
        {"cuCtxGetDevice_v2", address(&device_of_context)},
        {"cuCtxSynchronize", address(&synchronize)},
        {"cuCtxSynchronize_v2", address(&synchronize_context)},
        {"cuCtxGetApiVersion", address(&api_version)},
        {"cuCtxGetStreamPriorityRange", address(&priorities)},
        {"cuCtxGetFlags", address(&context_flags)},
        {"cuCtxGetId", address(&identity)},
        {"cuStreamCreate", address(&new_stream)},
        {"cuStreamCreateWithPriority", address(&queues::new_stream)},
        {"cuStreamDestroy", address(&queues::free_stream)},
        {"cuStreamSynchronize", address(&queues::wait_for_stream)},
        {"cuStreamQuery", address(&queues::query_stream)},
        {"cuStreamGetFlags", address(&stream_flags)},
        {"cuStreamGetPriority", address(&stream_priority)},
        {"cuStreamGetId", address(&stream_identity)},
        {"cuStreamGetCtx", address(&stream_context)},
        {"cuStreamGetDevice", address(&stream_device)},
        {"cuStreamIsCapturing", address(&is_capturing)},
        {"cuStreamWaitEvent", address(&await_event)},
        {"cuLaunchHostFunc", address(&queues::call)},
        {"cuStreamAddCallback", address(&call_back)},
        {"cuThreadExchangeStreamCaptureMode", address(&exchange_capture_mode)},
        {"cuEventCreate", address(&queues::new_event)},
        {"cuEventDestroy", address(&queues::free_event)},
        {"cuEventRecord", address(&record)},
        {"cuEventRecordWithFlags", address(&record_with_flags)},
        {"cuEventQuery", address(&queues::query_event)},
        {"cuEventSynchronize", address(&queues::wait_for_event)},
        {"cuEventElapsedTime", address(&queues::elapsed)},
        {"cuIpcGetEventHandle", address(&share_event)},
        {"cuIpcOpenEventHandle", address(&open_event)}};
    functions.merge(driver::memory_functions());
    return functions;
  }();
  return all;
}

}  // namespace library
