// Graphs and their nodes.
#pragma once

#include "graphs.h"

struct CUgraphNode_st {
  CUgraph_st* graph;
  cudaGraphNodeType type;
  std::vector<cudaGraphNode_t> before;  // which it depends on
  morph_cuda::graphs::Work work;
  cudaKernelNodeParams kernel{};  // its arguments are those that the graph keeps
  std::vector<void*> arguments;
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;

  CUgraphNode_st* add(cudaGraphNodeType type, const cudaGraphNode_t* before, size_t count);
  std::vector<const CUgraphNode_st*> in_order() const;  // each behind those that it depends on; fewer in a ring
};

namespace morph_cuda::graphs {

CUgraphNode_st* next_node(cudaStream_t stream, cudaGraphNodeType type);

// While it lives, this node keeps what the thread launches.
class Given {
 public:
  explicit Given(CUgraphNode_st* node);
  ~Given();
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;

 private:
  CUgraphNode_st* before_;
};

}  // namespace morph_cuda::graphs
