// What the runtime tells CUDA's graphs.
#pragma once

#include "morph/graphs.h"
#include "morph/launch.h"

#include <functional>
#include <memory>
#include <vector>

namespace morph_cuda::graphs {

struct Capture;
using Work = std::function<cudaError_t(cudaStream_t)>;

// A launch without its arguments.
struct Shape {
  dim3 grid, block;
  size_t shared;
  const Launched* what;
  void* kernel;
};
// What an event was recorded behind, in a capture.
struct Point {
  std::weak_ptr<Capture> capture;
  std::vector<cudaGraphNode_t> nodes;
};

bool keeps(cudaStream_t stream);            // whether a graph keeps what a stream is given
cudaError_t implicit(cudaStream_t stream);  // of work on the default stream, for which a capture would have to wait
cudaError_t unsafe();                       // of a call that captures do not allow
cudaError_t forbidden(cudaStream_t stream);  // of a call for a stream that is captured
cudaError_t keep(const Shape& shape, cudaStream_t stream, const void* arguments);
cudaError_t keep(cudaStream_t stream, cudaGraphNodeType type, Work work);
bool mark(cudaStream_t stream, Point& point);  // whether the stream is captured
cudaError_t join(cudaStream_t stream, const Point& point, bool& is_captured);
cudaStreamCaptureStatus status(cudaStream_t stream, unsigned long long* id);

// Carries out work on a stream, or has a graph keep it.
template <class F>
cudaError_t in_order(cudaStream_t stream, cudaGraphNodeType type, F work) {
  return keeps(stream) ? keep(stream, type, work) : work(stream);
}

}  // namespace morph_cuda::graphs
