// The copies and fills of CUDA's runtime library. All memory is the host's, and a copy is done when its call returns.
#include "copies.h"

#include "arrays.h"
#include "device.h"
#include "errors.h"
#include "sanitizer/calls.h"

#include <cstring>
#include <utility>

namespace morph_cuda {
namespace {

template <class F>
cudaError_t filled_on(cudaStream_t stream, F work, const char* name = __builtin_FUNCTION()) {
  return on(stream, cudaGraphNodeTypeMemset, work, name);
}

// Work that uses the memory that `uses` tells of. It is given what makes an address usable.
template <class F, class G>
cudaError_t done(Order order, F uses, G work) {
  if (lasting()) return lasting();
  if (cudaError_t error = graphs::implicit(order.stream)) return remembered(error);
  if (!sanitizer::are_calls_checked()) return work([](auto* pointer) { return pointer; }), cudaSuccess;
  return reported([&] {
    sanitizer::Call call(order.name, order.stream, order.blocks);
    uses(call);
    work([](auto* pointer) { return usable(pointer); });
    call.end();
    return cudaSuccess;
  });
}

cudaError_t copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                      Order order) {
  if (height > 1 && (width > to_pitch || width > from_pitch)) return remembered(cudaErrorInvalidPitchValue);
  if (width * height && (!to || !from)) return remembered(cudaErrorInvalidValue);
  char* source = static_cast<char*>(const_cast<void*>(from));
  return copy_box({static_cast<char*>(to), to_pitch, height}, {source, from_pitch, height}, {width, height, 1}, order);
}

cudaError_t copy(void* to, const void* from, size_t bytes, Order order) {
  return copy_rows(to, bytes, from, bytes, bytes, 1, order);
}

// Calls it with the distance of each row of a space from its beginning.
template <class F>
void each_row(const cudaExtent& space, size_t pitch, size_t height, F call) {
  for (size_t z = 0; z < space.depth; z++)
    for (size_t y = 0; y < space.height; y++) call((z * height + y) * pitch);
}

cudaError_t fill_space(const cudaPitchedPtr& to, int value, const cudaExtent& space, Order order) {
  char* start = static_cast<char*>(to.ptr);
  if (!space.width || !space.height || !space.depth) return cudaSuccess;
  if (!start || space.width > to.pitch) return remembered(cudaErrorInvalidValue);
  auto uses = [&](sanitizer::Call& call) {
    each_row(space, to.pitch, to.ysize, [&](size_t at) { call.use(start + at, space.width, true); });
  };
  return done(order, uses, [&](auto place) {
    each_row(space, to.pitch, to.ysize, [&](size_t at) { std::memset(place(start + at), value, space.width); });
  });
}
cudaError_t fill(void* to, int value, size_t bytes, Order order) {
  return fill_space({to, bytes, bytes, 1}, value, {bytes, 1, 1}, order);
}

// One side of a copy of a space. Places and widths count an array's elements, or bytes where there is no array.
struct Side {
  cudaArray_t array;
  const cudaPitchedPtr& memory;
  const cudaPos& at;
};
cudaError_t box_of(const Side& side, const cudaExtent& bytes, Box& box) {
  const cudaPitchedPtr& of = side.memory;
  const cudaPos& at = side.at;
  if (side.array && of.ptr) return cudaErrorInvalidValue;
  if (side.array) return box_of(side.array, {at.x * side.array->element(), at.y, at.z}, bytes, box);
  if (!of.ptr) return cudaErrorInvalidValue;
  box = {static_cast<char*>(of.ptr) + (at.z * of.ysize + at.y) * of.pitch + at.x, of.pitch, of.ysize};
  return bytes.width + at.x > of.pitch ? cudaErrorInvalidPitchValue : cudaSuccess;
}

cudaError_t copy_space(const cudaMemcpy3DParms* how, Order order) {
  if (!how) return remembered(cudaErrorInvalidValue);
  cudaExtent bytes = how->extent;
  if (!bytes.width || !bytes.height || !bytes.depth) return cudaSuccess;
  for (cudaArray_t each : {how->srcArray, how->dstArray})
    if (each && !is_live(each)) return remembered(cudaErrorInvalidResourceHandle);
  cudaArray_t array = how->srcArray ? how->srcArray : how->dstArray;
  bool differs = array && how->dstArray && array->element() != how->dstArray->element();
  if (differs) return remembered(cudaErrorInvalidValue);
  bytes.width *= array ? array->element() : 1;
  Box source, target;
  if (cudaError_t error = box_of({how->srcArray, how->srcPtr, how->srcPos}, bytes, source)) return remembered(error);
  if (cudaError_t error = box_of({how->dstArray, how->dstPtr, how->dstPos}, bytes, target)) return remembered(error);
  return copy_box(target, source, bytes, order);
}

}  // namespace

cudaError_t copy_box(const Box& to, const Box& from, cudaExtent bytes, Order order) {
  bool is_whole = bytes.depth == 1 && bytes.width == to.pitch && bytes.width == from.pitch;
  if (is_whole) bytes.width *= std::exchange(bytes.height, 1);
  auto uses = [&](sanitizer::Call& call) {
    each_row(bytes, from.pitch, from.height, [&](size_t at) { call.use(from.start + at, bytes.width, false); });
    each_row(bytes, to.pitch, to.height, [&](size_t at) { call.use(to.start + at, bytes.width, true); });
  };
  return done(order, uses, [&](auto place) {
    for (size_t z = 0; z < bytes.depth; z++)
      for (size_t y = 0; y < bytes.height; y++) {
        char* target = to.start + (z * to.height + y) * to.pitch;
        std::memmove(place(target), place(from.start + (z * from.height + y) * from.pitch), bytes.width);
      }
  });
}

}  // namespace morph_cuda

using namespace morph_cuda;

extern "C" {
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  return copy(to, from, bytes, at_once());
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return copied_on(stream, [=](Order order) { return copy(to, from, bytes, order); });
}
cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  return copy(to, from, bytes, at_once());
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  return copied_on(stream, [=](Order order) { return copy(to, from, bytes, order); });
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind) {
  return copy_rows(to, to_pitch, from, from_pitch, width, height, at_once());
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                              cudaMemcpyKind, cudaStream_t stream) {
  return copied_on(stream, [=](Order order) { return copy_rows(to, to_pitch, from, from_pitch, width, height, order); });
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* how) { return copy_space(how, at_once()); }
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* how, cudaStream_t stream) {
  if (!how) return remembered(cudaErrorInvalidValue);
  return copied_on(stream, [all = *how](Order order) { return copy_space(&all, order); });
}
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return fill_space({to, pitch, width, height}, value, {width, height, 1}, at_once());
}
cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  return filled_on(stream, [=](Order order) { return fill_space({to, pitch, width, height}, value, {width, height, 1}, order); });
}
cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) { return fill_space(to, value, extent, at_once()); }
cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
  return filled_on(stream, [=](Order order) { return fill_space(to, value, extent, order); });
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) { return fill(to, value, bytes, at_once()); }
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return filled_on(stream, [=](Order order) { return fill(to, value, bytes, order); });
}
}  // extern "C"
