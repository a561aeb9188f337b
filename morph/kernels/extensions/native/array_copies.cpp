// Copies from and to CUDA's arrays. Widths and the first of each pair of places count bytes.
#include "arrays.h"
#include "errors.h"

namespace morph_cuda {
namespace {

struct End {
  cudaArray_const_t array;  // or memory
  size_t x, y;
  const void* memory;
  size_t pitch;
};
End plain(const void* start, size_t pitch) { return {nullptr, 0, 0, start, pitch}; }
End place_of(cudaArray_const_t array, size_t x, size_t y) { return {array, x, y, nullptr, 0}; }

cudaError_t box_of(const End& end, size_t width, size_t height, Box& box) {
  if (end.array) return box_of(end.array, {end.x, end.y, 0}, {width, height, 1}, box);
  if (!end.memory) return cudaErrorInvalidValue;
  box = {static_cast<char*>(const_cast<void*>(end.memory)), end.pitch, height};
  bool has_next = height > 1;  // else no pitch is needed: cuda-samples' volumeRender gives 0
  return has_next && width > end.pitch ? cudaErrorInvalidPitchValue : cudaSuccess;
}

cudaError_t copy(const End& to, const End& from, size_t width, size_t height, Order order) {
  if (!width || !height) return cudaSuccess;
  Box target, source;
  if (cudaError_t error = box_of(to, width, height, target)) return remembered(error);
  if (cudaError_t error = box_of(from, width, height, source)) return remembered(error);
  return copy_box(target, source, {width, height, 1}, order);
}

// Bytes from a place on, over the ends of rows.
cudaError_t run_of(const End& end, size_t bytes, Box& box) {
  if (!end.array) return box_of(end, bytes, 1, box);
  if (cudaError_t error = box_of(end.array, {end.x, end.y, 0}, {1, 1, 1}, box)) return error;
  size_t before = end.y * box.pitch + end.x, all = box.height * box.pitch;
  return bytes <= all - before ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t copy(const End& to, const End& from, size_t bytes, Order order) {
  if (!bytes) return cudaSuccess;
  Box target, source;
  if (cudaError_t error = run_of(to, bytes, target)) return remembered(error);
  if (cudaError_t error = run_of(from, bytes, source)) return remembered(error);
  return copy_box({target.start, bytes, 1}, {source.start, bytes, 1}, {bytes, 1, 1}, order);
}

}  // namespace
}  // namespace morph_cuda

using namespace morph_cuda;

extern "C" {
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes, cudaMemcpyKind) {
  return copy(place_of(to, x, y), plain(from, bytes), bytes, at_once());
}
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes, cudaMemcpyKind) {
  return copy(plain(to, bytes), place_of(from, x, y), bytes, at_once());
}
cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                   size_t from_y, size_t bytes, cudaMemcpyKind) {
  return copy(place_of(to, to_x, to_y), place_of(from, from_x, from_y), bytes, at_once());
}
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes, cudaMemcpyKind,
                                   cudaStream_t stream) {
  return copied_on(stream, [=](Order order) { return copy(place_of(to, x, y), plain(from, bytes), bytes, order); });
}
cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes, cudaMemcpyKind,
                                     cudaStream_t stream) {
  return copied_on(stream, [=](Order order) { return copy(plain(to, bytes), place_of(from, x, y), bytes, order); });
}
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                                size_t height, cudaMemcpyKind) {
  return copy(place_of(to, x, y), plain(from, pitch), width, height, at_once());
}
cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                  size_t height, cudaMemcpyKind) {
  return copy(plain(to, pitch), place_of(from, x, y), width, height, at_once());
}
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                                     size_t height, cudaMemcpyKind, cudaStream_t stream) {
  return copied_on(
      stream, [=](Order order) { return copy(place_of(to, x, y), plain(from, pitch), width, height, order); });
}
cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                       size_t height, cudaMemcpyKind, cudaStream_t stream) {
  return copied_on(
      stream, [=](Order order) { return copy(plain(to, pitch), place_of(from, x, y), width, height, order); });
}
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                     size_t from_y, size_t width, size_t height, cudaMemcpyKind) {
  return copy(place_of(to, to_x, to_y), place_of(from, from_x, from_y), width, height, at_once());
}
}
