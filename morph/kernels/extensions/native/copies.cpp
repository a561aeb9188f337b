// The copies and fills of CUDA's runtime library. All memory is the host's, and a copy is done when its call returns.
#include "morph/runtime.h"

#include "device.h"
#include "errors.h"
#include "graphs.h"
#include "sanitizer/calls.h"

#include <cstring>
#include <utility>

namespace morph_cuda {
namespace {

// When a copy or a fill runs, and of which call.
struct Order {
  cudaStream_t stream;
  bool blocks;
  const char* name;
};
Order at_once(const char* name = __builtin_FUNCTION()) { return {nullptr, true, name}; }
// Work on a stream, of which a graph keeps a copy.
template <class F>
cudaError_t on(cudaStream_t stream, cudaGraphNodeType type, F work, const char* name = __builtin_FUNCTION()) {
  return graphs::in_order(stream, type, [=](cudaStream_t where) { return work(Order{where, false, name}); });
}
template <class F>
cudaError_t copied_on(cudaStream_t stream, F work, const char* name = __builtin_FUNCTION()) {
  return on(stream, cudaGraphNodeTypeMemcpy, work, name);
}
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
  if (width == to_pitch && width == from_pitch) width *= std::exchange(height, 1);
  auto target = [&](size_t row) { return static_cast<char*>(to) + row * to_pitch; };
  auto source = [&](size_t row) { return static_cast<const char*>(from) + row * from_pitch; };
  auto uses = [&](sanitizer::Call& call) {
    for (size_t row = 0; row < height; row++) call.use(source(row), width, false), call.use(target(row), width, true);
  };
  return done(order, uses, [&](auto place) {
    for (size_t row = 0; row < height; row++) std::memmove(place(target(row)), place(source(row)), width);
  });
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

cudaError_t copy_space(const cudaMemcpy3DParms* how, Order order) {
  if (!how || how->srcArray || how->dstArray) return remembered(how ? cudaErrorNotSupported : cudaErrorInvalidValue);
  const cudaExtent& space = how->extent;
  if (!space.width || !space.height || !space.depth) return cudaSuccess;
  auto start = [](const cudaPitchedPtr& of, const cudaPos& at) {
    return static_cast<char*>(of.ptr) + (at.z * of.ysize + at.y) * of.pitch + at.x;
  };
  const cudaPitchedPtr &from = how->srcPtr, &to = how->dstPtr;
  if (!from.ptr || !to.ptr) return remembered(cudaErrorInvalidValue);
  if (space.width + how->srcPos.x > from.pitch || space.width + how->dstPos.x > to.pitch)
    return remembered(cudaErrorInvalidPitchValue);
  char *source = start(from, how->srcPos), *target = start(to, how->dstPos);
  auto uses = [&](sanitizer::Call& call) {
    each_row(space, from.pitch, from.ysize, [&](size_t at) { call.use(source + at, space.width, false); });
    each_row(space, to.pitch, to.ysize, [&](size_t at) { call.use(target + at, space.width, true); });
  };
  return done(order, uses, [&](auto place) {
    for (size_t z = 0; z < space.depth; z++)
      for (size_t y = 0; y < space.height; y++)
        std::memmove(place(target + (z * to.ysize + y) * to.pitch), place(source + (z * from.ysize + y) * from.pitch), space.width);
  });
}

}  // namespace
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
