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

std::vector<int64_t> numbers(const GraphModeCall &call, int index) {
  Tensor values = input(call, index).to(at::kLong).contiguous();
  return {values.data_ptr<int64_t>(), values.data_ptr<int64_t>() + values.numel()};
}

// Inputs: source, begin and size in each dimension.
void slice(const GraphModeCall &call) {
  Tensor part = input(call, 0);
  auto begin = numbers(call, 1), size = numbers(call, 2);
  for (size_t i = 0; i < begin.size(); ++i) part = part.narrow(int64_t(i), begin[i], size[i]);
  output(call).copy_(part);
}

// Inputs: source, begin, end and step in each dimension; of a dimension in the mask only the begin is taken.
void strided_slice(const GraphModeCall &call) {
  Tensor part = input(call, 0);
  auto begin = numbers(call, 1), end = numbers(call, 2), step = numbers(call, 3);
  auto mask = call.attributes->numbers.find("shrink_axis_mask");
  int64_t shrunk = mask == call.attributes->numbers.end() ? 0 : mask->second;
  for (int64_t i = int64_t(begin.size()) - 1; i >= 0; --i)
    part = shrunk >> i & 1 ? part.select(i, begin[i]) : part.slice(i, begin[i], end[i], step[i]);
  output(call).copy_(part);
}

// Inputs from `first` on: memory, and a view of it: sizes, strides and offset.
Tensor strided(const GraphModeCall &call, int first) {
  Tensor memory = input(call, first);
  auto *start = static_cast<char *>(memory.data_ptr()) + numbers(call, first + 3)[0] * int64_t(memory.itemsize());
  return at::from_blob(start, numbers(call, first + 1), numbers(call, first + 2), memory.options());
}

void as_strided(const GraphModeCall &call) { output(call).copy_(strided(call, 0)); }
void view_copy(const GraphModeCall &call) { strided(call, 0).copy_(strided(call, 4)); }

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
    {"AsStrided", as_strided},
    {"BroadcastTo", copy},
    {"Cast", copy},
    {"Fill", fill},
    {"Identity", copy},
    {"SigmoidCrossEntropyWithLogitsGradV2", binary_cross_entropy_grad},
    {"Slice", slice},
    {"StridedSlice", strided_slice},
    {"ViewCopy", view_copy},
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
