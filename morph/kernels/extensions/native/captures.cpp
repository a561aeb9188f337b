// Captures of streams: while one lasts, a graph keeps what its streams are given.
#include "captures.h"

#include "errors.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace morph_cuda::graphs {

struct Capture {
  unsigned long long id;
  cudaStream_t origin;
  cudaStreamCaptureMode mode;
  std::thread::id thread = std::this_thread::get_id();
  std::unique_ptr<CUgraph_st> graph = std::make_unique<CUgraph_st>();
  std::map<cudaStream_t, std::vector<cudaGraphNode_t>> last;  // of each stream
  bool is_valid = true;
};

namespace {

std::mutex lock;
std::atomic<int> count{0};  // of streams; most programs have none
thread_local CUgraphNode_st* given = nullptr;

std::map<cudaStream_t, std::shared_ptr<Capture>>& all() {
  static auto& kept = *new std::map<cudaStream_t, std::shared_ptr<Capture>>;
  return kept;
}

std::shared_ptr<Capture> of(cudaStream_t stream) {
  if (!count) return nullptr;
  std::lock_guard<std::mutex> guard(lock);
  auto found = all().find(stream);
  return found == all().end() ? nullptr : found->second;
}

bool is_default(cudaStream_t stream) { return !stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread; }

void invalidate_all() {
  std::lock_guard<std::mutex> guard(lock);
  for (auto& [stream, capture] : all()) capture->is_valid = false;
}

// Whether each node is behind which the origin ends.
bool is_joined(const Capture& capture) {
  std::set<cudaGraphNode_t> seen;
  std::vector<cudaGraphNode_t> open = capture.last.at(capture.origin);
  while (!open.empty()) {
    cudaGraphNode_t node = open.back();
    open.pop_back();
    if (seen.insert(node).second) open.insert(open.end(), node->before.begin(), node->before.end());
  }
  return seen.size() == capture.graph->nodes.size();
}

cudaError_t why_not_ended(const Capture& capture, cudaStream_t stream) {
  if (capture.origin != stream) return cudaErrorStreamCaptureUnmatched;
  if (capture.mode != cudaStreamCaptureModeRelaxed && capture.thread != std::this_thread::get_id())
    return cudaErrorStreamCaptureWrongThread;
  if (!capture.is_valid) return cudaErrorStreamCaptureInvalidated;
  return is_joined(capture) ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}

void end(const std::shared_ptr<Capture>& capture) {
  std::lock_guard<std::mutex> guard(lock);
  for (auto& [stream, nodes] : capture->last) count -= int(all().erase(stream));
}

}  // namespace

Given::Given(CUgraphNode_st* node) : before_(std::exchange(given, node)) {}
Given::~Given() { given = before_; }

bool keeps(cudaStream_t stream) { return given || of(stream); }

cudaError_t implicit(cudaStream_t stream) {
  if (!count || !is_default(stream)) return cudaSuccess;
  return invalidate_all(), cudaErrorStreamCaptureImplicit;
}

cudaError_t unsafe() {
  if (!count) return cudaSuccess;
  std::lock_guard<std::mutex> guard(lock);
  bool is_unsafe = std::any_of(all().begin(), all().end(), [](const auto& each) {
    const Capture& capture = *each.second;
    bool is_ours = capture.mode == cudaStreamCaptureModeGlobal || capture.thread == std::this_thread::get_id();
    return capture.mode != cudaStreamCaptureModeRelaxed && is_ours;
  });
  if (!is_unsafe) return cudaSuccess;
  for (auto& [stream, capture] : all()) capture->is_valid = false;
  return cudaErrorStreamCaptureUnsupported;
}

cudaError_t forbidden(cudaStream_t stream) {
  std::shared_ptr<Capture> capture = of(stream);
  if (!capture) return cudaSuccess;
  return capture->is_valid = false, cudaErrorStreamCaptureUnsupported;
}

CUgraphNode_st* next_node(cudaStream_t stream, cudaGraphNodeType type) {
  if (given) return given;
  std::shared_ptr<Capture> capture = of(stream);
  std::lock_guard<std::mutex> guard(lock);
  std::vector<cudaGraphNode_t>& last = capture->last[stream];
  CUgraphNode_st* node = capture->graph->add(type, last.data(), last.size());
  return last = {node}, node;
}

cudaError_t keep(cudaStream_t stream, cudaGraphNodeType type, Work work) {
  return next_node(stream, type)->work = std::move(work), cudaSuccess;
}

bool mark(cudaStream_t stream, Point& point) {
  std::shared_ptr<Capture> capture = of(stream);
  point = {capture, capture ? capture->last[stream] : std::vector<cudaGraphNode_t>{}};
  return capture != nullptr;
}

cudaError_t join(cudaStream_t stream, const Point& point, bool& is_captured) {
  std::shared_ptr<Capture> from = point.capture.lock(), capture = of(stream);
  is_captured = from || capture;
  if (!is_captured) return cudaSuccess;
  if (capture && capture != from) {
    capture->is_valid = false;
    return from ? cudaErrorStreamCaptureMerge : cudaErrorStreamCaptureIsolation;
  }
  std::lock_guard<std::mutex> guard(lock);
  if (all().emplace(stream, from).second) count++;
  std::vector<cudaGraphNode_t>& last = from->last[stream];
  for (cudaGraphNode_t node : point.nodes)
    if (std::find(last.begin(), last.end(), node) == last.end()) last.push_back(node);
  return cudaSuccess;
}

cudaStreamCaptureStatus status(cudaStream_t stream, unsigned long long* id) {
  std::shared_ptr<Capture> capture = of(stream);
  if (!capture) return cudaStreamCaptureStatusNone;
  if (id) *id = capture->id;
  return capture->is_valid ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusInvalidated;
}

}  // namespace morph_cuda::graphs

using namespace morph_cuda;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  static std::atomic<unsigned long long> ids{0};
  TORCH_CHECK(is_program(), "cudaStreamBeginCapture: torch's operators would be in no graph; capture with torch.cuda.graph");
  if (graphs::is_default(stream) || graphs::of(stream)) return remembered(cudaErrorStreamCaptureUnsupported);
  auto capture = std::make_shared<graphs::Capture>();
  capture->id = ++ids, capture->origin = stream, capture->mode = mode, capture->last[stream] = {};
  std::lock_guard<std::mutex> guard(graphs::lock);
  graphs::all()[stream] = capture, graphs::count++;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  auto capture = graphs::of(stream);
  if (!capture) return remembered(cudaErrorInvalidValue);
  cudaError_t error = graphs::why_not_ended(*capture, stream);
  if (error == cudaErrorStreamCaptureUnmatched || error == cudaErrorStreamCaptureWrongThread) {
    capture->is_valid = false;
    return remembered(error);
  }
  graphs::end(capture);
  if (!error) *graph = capture->graph.release();
  return remembered(error);
}
