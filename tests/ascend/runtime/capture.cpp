#include "runtime/capture.h"

#include <atomic>
#include <cstring>
#include <memory>

#include "acl/acl.h"
#include "acl/error_codes/rt_error_codes.h"
#include "soft_cann.h"

namespace soft_cann {
namespace {

std::atomic<Graph *> being_captured{nullptr};

Graph *as_graph(aclmdlRI graph) { return static_cast<Graph *>(graph); }

}  // namespace

Graph *captured_graph() { return being_captured; }

void Graph::add(std::function<void()> step) {
  std::lock_guard lock(mutex_);
  steps_.push_back(std::move(step));
}

void Graph::at_the_end(std::function<void()> destroy) {
  std::lock_guard lock(mutex_);
  destructions_.push_back(std::move(destroy));
}

void Graph::preserve(void *start, size_t size) {
  std::lock_guard lock(mutex_);
  for (auto &known : preserved_)
    if (known.start == start && known.content.size() >= size) return;
  char *bytes = static_cast<char *>(start);
  preserved_.push_back({start, {bytes, bytes + size}});
}

void Graph::end_capture() {
  std::lock_guard lock(mutex_);
  for (auto known = preserved_.rbegin(); known != preserved_.rend(); ++known)
    std::memcpy(known->start, known->content.data(), known->content.size());
  preserved_.clear();
}

void Graph::replay() {
  std::lock_guard lock(mutex_);
  for (auto &step : steps_) step();
}

Graph::~Graph() {
  for (auto &destroy : destructions_) destroy();
}

}  // namespace soft_cann

using namespace soft_cann;

EXPORT aclError aclmdlRICaptureBegin(aclrtStream, aclmdlRICaptureMode) {
  auto graph = std::make_unique<Graph>();
  Graph *none = nullptr;
  if (!being_captured.compare_exchange_strong(none, graph.get()))
    return soft_cann_fail(ACL_ERROR_RT_PARAM_INVALID, "another graph is being captured");
  graph.release();
  return ACL_SUCCESS;
}

EXPORT aclError aclmdlRICaptureEnd(aclrtStream, aclmdlRI *graph) {
  Graph *captured = being_captured.exchange(nullptr);
  if (!captured) return soft_cann_fail(ACL_ERROR_RT_PARAM_INVALID, "no graph is being captured");
  captured->end_capture();
  *graph = captured;
  return ACL_SUCCESS;
}

EXPORT aclError aclmdlRICaptureGetInfo(aclrtStream, aclmdlRICaptureStatus *status, aclmdlRI *graph) {
  Graph *captured = captured_graph();
  *status = captured ? ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE : ACL_MODEL_RI_CAPTURE_STATUS_NONE;
  if (graph) *graph = captured;
  return ACL_SUCCESS;
}

EXPORT aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *) { return ACL_SUCCESS; }

EXPORT aclError aclmdlRIExecuteAsync(aclmdlRI graph, aclrtStream) {
  try {
    as_graph(graph)->replay();
    return ACL_SUCCESS;
  } catch (const std::exception &error) {
    return soft_cann_fail(ACL_ERROR_RT_PARAM_INVALID, "replaying a graph: %s", error.what());
  }
}

EXPORT aclError aclmdlRIDestroy(aclmdlRI graph) {
  delete as_graph(graph);
  return ACL_SUCCESS;
}
