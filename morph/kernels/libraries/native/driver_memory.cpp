// See driver_memory.h. A device pointer is an integer of 64 bits in the driver's interface, and passed as an address is.
#include "driver_memory.h"

#include "machine.h"
#include "pointers.h"
#include "queues.h"
#include "transfers.h"

namespace driver {
namespace {

using memory::Handle;
using transfers::Order;
using Stream = void*;

int allocate(void** pointer, size_t bytes) { return bytes ? memory::allocate(pointer, bytes) : int(machine::kInvalidValue); }
int allocate_async(void** pointer, size_t bytes, Stream) { return allocate(pointer, bytes); }
int allocate_managed(void** pointer, size_t bytes, unsigned) { return memory::allocate_managed(pointer, bytes); }
int allocate_pitched(void** pointer, size_t* pitch, size_t width, size_t height, unsigned) {
  return memory::allocate_pitched(pointer, pitch, width, height);
}
int free_device(void* pointer) { return pointer ? memory::free(pointer) : int(machine::kInvalidValue); }
int free_async(void* pointer, Stream stream) {
  int code = queues::wait_for_stream(stream);
  return code ? code : free_device(pointer);
}
int info(size_t* free, size_t* total) {
  if (!free || !total) return machine::kInvalidValue;
  if (int code = machine::use()) return code;
  machine::memory_info(machine::get_device(), free, total);
  return 0;
}
int range(const void** start, size_t* bytes, const void* pointer) {
  const void* from = nullptr;
  size_t size = 0;
  if (int code = memory::around(pointer, &from, &size)) return code;
  if (start) *start = from;
  if (bytes) *bytes = size;
  return 0;
}
int allocate_host(void** pointer, size_t bytes) { return memory::allocate_pinned(pointer, bytes, 0); }
int register_host(void* pointer, size_t bytes, unsigned) { return memory::pin(pointer, bytes); }
int device_pointer(void** device, void* host, unsigned) {
  if (!device || !machine::is_pinned(host)) return machine::kInvalidValue;
  *device = host;
  return 0;
}
int host_flags(unsigned* flags, void* host) {
  if (!flags || !machine::is_pinned(host)) return machine::kInvalidValue;
  *flags = memory::flags(host);
  return 0;
}
int open_memory(void** pointer, Handle handle, unsigned flags) {
  return flags == 1 ? memory::open(pointer, handle) : int(machine::kInvalidValue);
}

template <int direction>
int copy(void* to, const void* from, size_t bytes) {
  return transfers::copy(to, from, bytes, direction, {});
}
template <int direction>
int copy_async(void* to, const void* from, size_t bytes, Stream stream) {
  return transfers::copy(to, from, bytes, direction, Order{stream, false});
}
int copy_peer(void* to, void*, const void* from, void*, size_t bytes) {
  return transfers::copy(to, from, bytes, transfers::kDeviceToDevice, {});
}
int copy_peer_async(void* to, void*, const void* from, void*, size_t bytes, Stream stream) {
  return transfers::copy(to, from, bytes, transfers::kDeviceToDevice, Order{stream, false});
}

struct Batch {
  void **to, **from;
  const size_t* bytes;
  size_t count;
};
// The attributes are hints, but for the order, and each copy is done in its turn.
int copy_batch(Batch batch, const void* attributes, const size_t* firsts, size_t kinds, size_t* failed, Stream stream) {
  if (failed) *failed = SIZE_MAX;
  const bool named = reinterpret_cast<uintptr_t>(stream) > 1;  // the default stream is refused, as CUDA does
  if (!batch.to || !batch.from || !batch.bytes || !batch.count || !named) return machine::kInvalidValue;
  if (!attributes || !firsts || !kinds || kinds > batch.count || *firsts) return machine::kInvalidValue;
  for (size_t i = 0; i < batch.count; i++) {
    int code = copy_async<transfers::kAny>(batch.to[i], batch.from[i], batch.bytes[i], stream);
    if (code && failed) *failed = i;
    if (code) return code;
  }
  return 0;
}
int copy_batch_v1(void** to, void** from, size_t* bytes, size_t count, void* attributes, size_t* firsts, size_t kinds,
                  size_t* failed, Stream stream) {
  return copy_batch({to, from, bytes, count}, attributes, firsts, kinds, failed, stream);
}
int copy_batch_v2(void** to, void** from, const size_t* bytes, size_t count, void* attributes, size_t* firsts,
                  size_t kinds, Stream stream) {
  return copy_batch({to, from, bytes, count}, attributes, firsts, kinds, nullptr, stream);
}

struct Side {  // of CUDA_MEMCPY2D
  size_t x, y;
  unsigned kind;
  char *host, *device;
  void* array;
  size_t pitch;

  char* start() const { return (kind == 1 ? host : device) + y * pitch + x; }
};
struct Rows {
  Side from, to;
  size_t width, height;
};
int copy_rows(const Rows* rows, Order order) {
  if (!rows) return machine::kInvalidValue;
  for (unsigned kind : {rows->from.kind, rows->to.kind})
    if (kind < 1 || kind > 4) return machine::kInvalidValue;
  if (rows->from.kind == 3 || rows->to.kind == 3) return machine::kNotSupported;  // an array, as for textures
  return transfers::copy_rows({rows->to.start(), rows->to.pitch}, {rows->from.start(), rows->from.pitch}, rows->width,
                              rows->height, transfers::kAny, order);
}
int copy_2d(const Rows* rows) { return copy_rows(rows, {}); }
int copy_2d_async(const Rows* rows, Stream stream) { return copy_rows(rows, Order{stream, false}); }

template <int width>
int fill(void* to, unsigned value, size_t count) {
  return transfers::fill(to, width, value, count, {});
}
template <int width>
int fill_async(void* to, unsigned value, size_t count, Stream stream) {
  return transfers::fill(to, width, value, count, Order{stream, false});
}
template <int width>
int fill_2d(char* to, size_t pitch, unsigned value, size_t count, size_t height) {
  return transfers::fill_rows({to, pitch}, width, value, count, height, {});
}
template <int width>
int fill_2d_async(char* to, size_t pitch, unsigned value, size_t count, size_t height, Stream stream) {
  return transfers::fill_rows({to, pitch}, width, value, count, height, Order{stream, false});
}

}  // namespace

library::Functions memory_functions() {
  using library::address;
  return {{"cuMemGetInfo", address(&info)},
          {"cuMemAlloc", address(&allocate)},
          {"cuMemAllocAsync", address(&allocate_async)},
          {"cuMemAllocManaged", address(&allocate_managed)},
          {"cuMemAllocPitch", address(&allocate_pitched)},
          {"cuMemFree", address(&free_device)},
          {"cuMemFreeAsync", address(&free_async)},
          {"cuMemGetAddressRange", address(&range)},
          {"cuMemAllocHost", address(&allocate_host)},
          {"cuMemHostAlloc", address(&memory::allocate_pinned)},
          {"cuMemFreeHost", address(&memory::free_pinned)},
          {"cuMemHostRegister", address(&register_host)},
          {"cuMemHostUnregister", address(&memory::unpin)},
          {"cuMemHostGetDevicePointer", address(&device_pointer)},
          {"cuMemHostGetFlags", address(&host_flags)},
          {"cuPointerGetAttribute", address(&pointers::attribute)},
          {"cuPointerGetAttributes", address(&pointers::attributes)},
          {"cuIpcGetMemHandle", address(&memory::share)},
          {"cuIpcOpenMemHandle", address(&open_memory)},
          {"cuIpcCloseMemHandle", address(&memory::close)},
          {"cuMemcpy", address(&copy<transfers::kAny>)},
          {"cuMemcpyAsync", address(&copy_async<transfers::kAny>)},
          {"cuMemcpyHtoD", address(&copy<transfers::kHostToDevice>)},
          {"cuMemcpyHtoDAsync", address(&copy_async<transfers::kHostToDevice>)},
          {"cuMemcpyDtoH", address(&copy<transfers::kDeviceToHost>)},
          {"cuMemcpyDtoHAsync", address(&copy_async<transfers::kDeviceToHost>)},
          {"cuMemcpyDtoD", address(&copy<transfers::kDeviceToDevice>)},
          {"cuMemcpyDtoDAsync", address(&copy_async<transfers::kDeviceToDevice>)},
          {"cuMemcpyPeer", address(&copy_peer)},
          {"cuMemcpyPeerAsync", address(&copy_peer_async)},
          {"cuMemcpyBatchAsync", address(&copy_batch_v1)},
          {"cuMemcpyBatchAsync_v2", address(&copy_batch_v2)},
          {"cuMemcpy2D", address(&copy_2d)},
          {"cuMemcpy2DUnaligned", address(&copy_2d)},
          {"cuMemcpy2DAsync", address(&copy_2d_async)},
          {"cuMemsetD8", address(&fill<1>)},
          {"cuMemsetD16", address(&fill<2>)},
          {"cuMemsetD32", address(&fill<4>)},
          {"cuMemsetD8Async", address(&fill_async<1>)},
          {"cuMemsetD16Async", address(&fill_async<2>)},
          {"cuMemsetD32Async", address(&fill_async<4>)},
          {"cuMemsetD2D8", address(&fill_2d<1>)},
          {"cuMemsetD2D16", address(&fill_2d<2>)},
          {"cuMemsetD2D32", address(&fill_2d<4>)},
          {"cuMemsetD2D8Async", address(&fill_2d_async<1>)},
          {"cuMemsetD2D16Async", address(&fill_2d_async<2>)},
          {"cuMemsetD2D32Async", address(&fill_2d_async<4>)}};
}

}  // namespace driver
