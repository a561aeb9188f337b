// Operators of the old, graph-mode interface: how their tensors and attributes are described.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "acl/acl.h"

struct aclDataBuffer {
  void *data;
  size_t size;
};

struct aclTensorDesc {
  aclDataType type;
  aclFormat format;
  std::vector<int64_t> sizes;
};

// No kernel reads an attribute of another kind.
struct aclopAttr {
  std::map<std::string, int64_t> numbers;
  std::map<std::string, std::string> strings;
};

namespace soft_cann {

struct GraphModeCall {
  std::string name;
  int input_count;
  const aclTensorDesc *const *inputs;
  const aclDataBuffer *const *input_data;
  const aclTensorDesc *const *outputs;
  aclDataBuffer *const *output_data;
  const aclopAttr *attributes;
};

// Returns an aclError.
int run_graph_mode(const GraphModeCall &call);

}  // namespace soft_cann
