// The kernels of the graph-mode operators that torch_npu still calls.
#include "runtime/graph_mode.h"

#include "operators/interface.h"

namespace soft_cann {
namespace {

Tensor view_buffer(const aclTensorDesc *tensor, const aclDataBuffer *buffer) {
  return at::from_blob(buffer->data, tensor->sizes, scalar_type(tensor->type));
}

Tensor input(const GraphModeCall &call, int index) {
  TORCH_CHECK(index < call.input_count, "input ", index, " of ", call.input_count);
  return view_buffer(call.inputs[index], call.input_data[index]);
}

Tensor output(const GraphModeCall &call) { return view_buffer(call.outputs[0], call.output_data[0]); }

void copy(const GraphModeCall &call) { output(call).copy_(input(call, 0)); }
void fill(const GraphModeCall &call) { output(call).fill_(input(call, 1).reshape({}).item()); }
void zero(const GraphModeCall &call) { output(call).zero_(); }

// Inputs: prediction, target, gradient, weight, weight of the positive.
void binary_cross_entropy_grad(const GraphModeCall &call) {
  Tensor probability = at::sigmoid(input(call, 0)), goal = input(call, 1), positive = input(call, 4);
  Tensor slope = probability * (goal * (positive - 1) + 1) - goal * positive;
  Tensor gradient = input(call, 3) * slope * input(call, 2);
  auto reduction = call.attributes->strings.find("reduction");
  bool mean = reduction != call.attributes->strings.end() && reduction->second == "mean";
  output(call).copy_(mean ? gradient / double(gradient.numel()) : gradient);
}

const std::map<std::string, void (*)(const GraphModeCall &)> kKernels = {
    {"BroadcastTo", copy},
    {"Cast", copy},
    {"Fill", fill},
    {"Identity", copy},
    {"SigmoidCrossEntropyWithLogitsGradV2", binary_cross_entropy_grad},
    {"ZerosLike", zero},
};

}  // namespace

int run_graph_mode(const GraphModeCall &call) {
  return run(call.name, [&] {
    auto kernel = kKernels.find(call.name);
    TORCH_CHECK(kernel != kKernels.end(), "a graph-mode operator without a kernel");
    kernel->second(call);
  });
}

}  // namespace soft_cann
