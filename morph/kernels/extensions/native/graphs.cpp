// See graphs.h; a graph's work is done when its launch returns, as that of streams.
#include "captures.h"

#include "device.h"
#include "errors.h"
#include "grid.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

using namespace morph_cuda;
using graphs::Work;

CUgraphNode_st* CUgraph_st::add(cudaGraphNodeType type, const cudaGraphNode_t* before, size_t count) {
  auto node = std::make_unique<CUgraphNode_st>();
  node->graph = this, node->type = type, node->before.assign(before, before + count);
  return nodes.emplace_back(std::move(node)).get();
}

std::vector<const CUgraphNode_st*> CUgraph_st::in_order() const {
  std::vector<const CUgraphNode_st*> order;
  std::map<const CUgraphNode_st*, bool> is_done;
  for (size_t before = ~size_t(0); before != order.size();) {
    before = order.size();
    for (const auto& node : nodes) {
      auto waits_for = [&](cudaGraphNode_t other) { return !is_done[other]; };
      if (is_done[node.get()] || std::any_of(node->before.begin(), node->before.end(), waits_for)) continue;
      order.push_back(node.get()), is_done[node.get()] = true;
    }
  }
  return order;
}

// A graph that is launched: what each node does, and by which numbers it depends on others.
struct CUgraphExec_st {
  struct Step {
    const CUgraphNode_st* node;
    cudaGraphNodeType type;
    Work work;
    std::vector<size_t> before;
  };
  std::vector<Step> steps;

  explicit CUgraphExec_st(const CUgraph_st& graph) {
    std::map<const CUgraphNode_st*, size_t> numbers;
    for (const CUgraphNode_st* node : graph.in_order()) {
      Step step{node, node->type, node->work, {}};
      for (cudaGraphNode_t other : node->before) step.before.push_back(numbers.at(other));
      numbers.emplace(node, steps.size()), steps.push_back(std::move(step));
    }
  }
  cudaError_t run(cudaStream_t stream) const {
    for (const Step& step : steps)
      if (cudaError_t error = step.work ? step.work(stream) : cudaSuccess) return error;
    return cudaSuccess;
  }
};

namespace morph_cuda::graphs {
namespace {

Work work_of(const Shape& shape, std::shared_ptr<void> closure, bool cooperative) {
  return [=](cudaStream_t stream) {
    return reported([&] {
      Cooperative as_before(cooperative);
      Grid(shape.grid, shape.block, shape.shared, stream, *shape.what, closure.get()).run();
      return cudaSuccess;
    });
  };
}

template <class F>
cudaError_t fill(CUgraphNode_st* node, F work) {
  return node->work = std::move(work), cudaSuccess;
}

// Adds a node to a graph, which `fill` gives its work.
template <class F>
cudaError_t added(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count,
                  cudaGraphNodeType type, F fill) {
  bool is_strange = std::any_of(before, before + count, [&](cudaGraphNode_t each) { return !each || each->graph != graph; });
  if (!node || !graph || is_strange) return remembered(cudaErrorInvalidValue);
  *node = graph->add(type, before, count);
  cudaError_t error = fill(*node);
  if (error) graph->nodes.pop_back();
  return remembered(error);
}

cudaError_t launched_into(CUgraphNode_st* node, const cudaKernelNodeParams* how) {
  if (!how || !how->func || how->extra) return how && how->extra ? cudaErrorNotSupported : cudaErrorInvalidValue;
  Given given(node);
  return launch_by_address(how->func, how->gridDim, how->blockDim, how->kernelParams, how->sharedMemBytes, nullptr);
}

void write_elements(const cudaMemsetParams& how) {
  for (size_t row = 0; row < how.height; row++)
    for (size_t i = 0; i < how.width; i++)
      std::memcpy(usable(static_cast<char*>(how.dst) + row * how.pitch + i * how.elementSize), &how.value, how.elementSize);
}

cudaError_t cleared(const cudaMemsetParams& how, cudaStream_t stream) {
  if (how.elementSize == 1) return cudaMemset2DAsync(how.dst, std::max(how.pitch, how.width), int(how.value), how.width, how.height, stream);
  return reported([&] { return write_elements(how), cudaSuccess; });
}

size_t copied(const std::vector<cudaGraphNode_t>& from, cudaGraphNode_t* to, size_t most) {
  if (to) std::copy_n(from.begin(), std::min(most, from.size()), to);
  return to ? std::min(most, from.size()) : from.size();
}

template <class F>
cudaError_t listed(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count, F is_wanted) {
  if (!graph || !count) return remembered(cudaErrorInvalidValue);
  std::vector<cudaGraphNode_t> found;
  for (const auto& node : graph->nodes)
    if (is_wanted(*node)) found.push_back(node.get());
  return *count = copied(found, nodes, *count), cudaSuccess;
}

}  // namespace

cudaError_t keep(const Shape& shape, cudaStream_t stream, const void* arguments) {
  std::shared_ptr<void> closure(shape.what->copy(arguments), shape.what->destroy);
  CUgraphNode_st* node = next_node(stream, cudaGraphNodeTypeKernel);
  node->arguments.assign(shape.what->count, nullptr);
  shape.what->list(closure.get(), node->arguments.data());
  node->kernel = {shape.kernel, shape.grid, shape.block, unsigned(shape.shared), node->arguments.data(), nullptr};
  return fill(node, work_of(shape, closure, Cooperative::is_wanted()));
}

}  // namespace morph_cuda::graphs

using namespace graphs;

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) { return *graph = new CUgraph_st, cudaSuccess; }
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return delete graph, cudaSuccess; }
cudaError_t cudaGraphClone(cudaGraph_t* copy, cudaGraph_t graph) {
  if (!copy || !graph) return remembered(cudaErrorInvalidValue);
  *copy = new CUgraph_st;
  std::map<cudaGraphNode_t, cudaGraphNode_t> copies;
  for (const auto& node : graph->nodes) {
    CUgraphNode_st* made = copies[node.get()] = (*copy)->add(node->type, node->before.data(), node->before.size());
    made->work = node->work, made->kernel = node->kernel, made->arguments = node->arguments;
    made->kernel.kernelParams = made->arguments.data();
  }
  for (const auto& node : (*copy)->nodes)
    for (cudaGraphNode_t& other : node->before) other = copies.at(other);
  return cudaSuccess;
}
cudaError_t cudaGraphAddKernelNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count, const cudaKernelNodeParams* how) {
  return added(node, graph, before, count, cudaGraphNodeTypeKernel, [&](auto* made) { return launched_into(made, how); });
}
cudaError_t cudaGraphAddMemcpyNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count, const cudaMemcpy3DParms* how) {
  if (!how) return remembered(cudaErrorInvalidValue);
  auto work = [all = *how](cudaStream_t stream) { return cudaMemcpy3DAsync(&all, stream); };
  return added(node, graph, before, count, cudaGraphNodeTypeMemcpy, [&](auto* made) { return fill(made, work); });
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count,
                                     void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  auto work = [=](cudaStream_t stream) { return cudaMemcpyAsync(to, from, bytes, kind, stream); };
  return added(node, graph, before, count, cudaGraphNodeTypeMemcpy, [&](auto* made) { return fill(made, work); });
}
cudaError_t cudaGraphAddMemsetNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count, const cudaMemsetParams* how) {
  if (!how || (how->elementSize != 1 && how->elementSize != 2 && how->elementSize != 4)) return remembered(cudaErrorInvalidValue);
  auto work = [all = *how](cudaStream_t stream) { return cleared(all, stream); };
  return added(node, graph, before, count, cudaGraphNodeTypeMemset, [&](auto* made) { return fill(made, work); });
}
cudaError_t cudaGraphAddHostNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count, const cudaHostNodeParams* how) {
  if (!how || !how->fn) return remembered(cudaErrorInvalidValue);
  auto work = [all = *how](cudaStream_t stream) { return cudaLaunchHostFunc(stream, all.fn, all.userData); };
  return added(node, graph, before, count, cudaGraphNodeTypeHost, [&](auto* made) { return fill(made, work); });
}
cudaError_t cudaGraphAddChildGraphNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count, cudaGraph_t child) {
  if (!child) return remembered(cudaErrorInvalidValue);
  auto work = [all = std::make_shared<CUgraphExec_st>(*child)](cudaStream_t stream) { return all->run(stream); };
  return added(node, graph, before, count, cudaGraphNodeTypeGraph, [&](auto* made) { return fill(made, work); });
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count) {
  return added(node, graph, before, count, cudaGraphNodeTypeEmpty, [](auto*) { return cudaSuccess; });
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!graph || from[i]->graph != graph || to[i]->graph != graph) return remembered(cudaErrorInvalidValue);
    to[i]->before.push_back(from[i]);
  }
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return listed(graph, nodes, count, [](const CUgraphNode_st&) { return true; });
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return listed(graph, nodes, count, [](const CUgraphNode_st& node) { return node.before.empty(); });
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) { return *type = node->type, cudaSuccess; }
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* how) {
  if (node->type != cudaGraphNodeTypeKernel || !node->kernel.func)
    return remembered(node->type == cudaGraphNodeTypeKernel ? cudaErrorNotSupported : cudaErrorInvalidValue);
  return *how = node->kernel, cudaSuccess;
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* how) {
  return remembered(launched_into(node, how));
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* run, cudaGraph_t graph, unsigned long long) {
  if (!run || !graph || graph->in_order().size() != graph->nodes.size()) return remembered(cudaErrorInvalidValue);
  return *run = new CUgraphExec_st(*graph), cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t run, cudaStream_t stream) {
  if (!run) return remembered(cudaErrorInvalidValue);
  if (cudaError_t error = keeps(stream) ? cudaSuccess : implicit(stream)) return remembered(error);
  auto work = [all = std::make_shared<CUgraphExec_st>(*run)](cudaStream_t where) { return all->run(where); };
  return keeps(stream) ? keep(stream, cudaGraphNodeTypeGraph, work) : remembered(run->run(stream));
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t run) { return delete run, cudaSuccess; }
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t run, cudaGraphNode_t node, const cudaKernelNodeParams* how) {
  auto found = std::find_if(run->steps.begin(), run->steps.end(), [&](const auto& step) { return step.node == node; });
  if (found == run->steps.end() || node->type != cudaGraphNodeTypeKernel) return remembered(cudaErrorInvalidValue);
  CUgraphNode_st changed{};
  cudaError_t error = launched_into(&changed, how);
  if (!error) found->work = changed.work;
  return remembered(error);
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t run, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result) {
  CUgraphExec_st now(*graph);
  *result = {cudaGraphExecUpdateSuccess, nullptr, nullptr};
  if (now.steps.size() != run->steps.size()) result->result = cudaGraphExecUpdateErrorTopologyChanged;
  for (size_t i = 0; !result->result && i < now.steps.size(); i++) {
    if (now.steps[i].before != run->steps[i].before) result->result = cudaGraphExecUpdateErrorTopologyChanged;
    else if (now.steps[i].type != run->steps[i].type) result->result = cudaGraphExecUpdateErrorNodeTypeChanged;
    if (result->result) result->errorNode = const_cast<cudaGraphNode_t>(now.steps[i].node);
  }
  if (result->result) return remembered(cudaErrorGraphExecUpdateFailure);
  for (size_t i = 0; i < now.steps.size(); i++) run->steps[i].work = now.steps[i].work;
  return cudaSuccess;
}
