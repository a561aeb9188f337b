// How copies of CUDA's runtime library are made: all of them are of boxes.
#pragma once

#include "graphs.h"

namespace morph_cuda {

// When a copy or a fill runs, and of which call.
struct Order {
  cudaStream_t stream;
  bool blocks;
  const char* name;
};
inline Order at_once(const char* name = __builtin_FUNCTION()) { return {nullptr, true, name}; }
// Work on a stream, of which a graph keeps a copy.
template <class F>
cudaError_t on(cudaStream_t stream, cudaGraphNodeType type, F work, const char* name = __builtin_FUNCTION()) {
  return graphs::in_order(stream, type, [=](cudaStream_t where) { return work(Order{where, false, name}); });
}
template <class F>
cudaError_t copied_on(cudaStream_t stream, F work, const char* name = __builtin_FUNCTION()) {
  return on(stream, cudaGraphNodeTypeMemcpy, work, name);
}

// Where rows begin, one `pitch` bytes after another, and slices of `height` rows.
struct Box {
  char* start;
  size_t pitch, height;
};
cudaError_t copy_box(const Box& to, const Box& from, cudaExtent bytes, Order order);

}  // namespace morph_cuda
