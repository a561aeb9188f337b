#include "kernels/call.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <functional>
#include <optional>
#include <vector>

#include "kernels/host_view.h"
#include "kernels/seeding.h"
#include "runtime/capture.h"

namespace soft_cann {
namespace {

using c10::IValue;

struct Randomness {
  bool drawn;
  std::optional<at::Generator> generator;
};

c10::List<at::Tensor> each_to_host(const c10::List<at::Tensor> &tensors, HostView &view) {
  c10::List<at::Tensor> result;
  for (const at::Tensor &tensor : tensors) result.push_back(view.to_host(tensor));
  return result;
}

c10::List<std::optional<at::Tensor>> each_to_host(const c10::List<std::optional<at::Tensor>> &tensors,
                                                  HostView &view) {
  c10::List<std::optional<at::Tensor>> result;
  for (std::optional<at::Tensor> tensor : tensors)
    result.push_back(tensor ? std::optional(view.to_host(*tensor)) : std::nullopt);
  return result;
}

void argument_to_host(IValue &argument, HostView &view, Randomness &randomness) {
  if (argument.isTensor()) {
    argument = view.to_host(argument.toTensor());
  } else if (argument.isTensorList()) {
    argument = each_to_host(argument.toTensorList(), view);
  } else if (argument.isOptionalTensorList()) {
    argument = each_to_host(argument.toOptionalTensorList(), view);
  } else if (argument.isDevice() && argument.toDevice().is_privateuseone()) {
    view.set_device(argument.toDevice());
    argument = c10::Device(c10::kCPU);
  } else if (argument.isGenerator()) {
    randomness = {true, argument.toGenerator()};
    argument = IValue();
  }
}

void result_to_device(IValue &result, HostView &view) {
  if (result.isTensor()) {
    result = view.to_device(result.toTensor());
  } else if (result.isTensorList()) {
    c10::List<at::Tensor> moved;
    for (const at::Tensor &tensor : result.toTensorList()) moved.push_back(view.to_device(tensor));
    result = moved;
  }
}

std::vector<at::Tensor> tensors_in(const IValue &value) {
  if (value.isTensor()) return {value.toTensor()};
  return value.isTensorList() ? value.toTensorVector() : std::vector<at::Tensor>{};
}

// torch_npu queues its own work on another thread.
void synchronize(c10::Device device) {
  static const c10::impl::VirtualGuardImpl guard(c10::DeviceType::PrivateUse1);
  guard.synchronizeDevice(device.index());
}

void call_host(const c10::OperatorHandle &op, torch::jit::Stack *stack, const Randomness &randomness,
               c10::Device device) {
  std::optional<SeededFromDevice> seeded;
  if (randomness.drawn) seeded.emplace(randomness.generator, device);
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
}

void preserve_written(const c10::OperatorHandle &op, c10::ArrayRef<IValue> arguments, Graph &graph) {
  for (size_t i = 0; i < arguments.size(); i++) {
    auto *alias = op.schema().arguments()[i].alias_info();
    if (!alias || !alias->isWrite()) continue;
    for (const at::Tensor &tensor : tensors_in(arguments[i]))
      if (on_device(tensor)) graph.preserve(tensor.storage().mutable_data(), tensor.storage().nbytes());
  }
}

// A step that calls the operator on the same memory again, and puts the results where they were put first.
std::function<void()> repetition(const c10::OperatorHandle &op, c10::ArrayRef<IValue> arguments,
                                 c10::ArrayRef<IValue> results) {
  HostView view;
  Randomness randomness{op.hasTag(at::Tag::nondeterministic_seeded), std::nullopt};
  torch::jit::Stack inputs(arguments.begin(), arguments.end());
  for (IValue &input : inputs) argument_to_host(input, view, randomness);
  std::vector<at::Tensor> outputs;
  for (const IValue &result : results)
    for (const at::Tensor &tensor : tensors_in(result)) outputs.push_back(view.to_host(tensor));
  return [op, inputs, outputs, randomness, device = view.device()] {
    at::AutoDispatchBelowADInplaceOrView no_autograd;
    torch::jit::Stack stack = inputs;
    call_host(op, &stack, randomness, device);
    size_t next = 0;
    for (const IValue &result : stack)
      for (const at::Tensor &tensor : tensors_in(result))
        if (const at::Tensor &output = outputs[next++]; tensor.defined() && !tensor.is_same(output))
          output.copy_(tensor);
  };
}

}  // namespace

void run_on_host(const c10::OperatorHandle &op, c10::DispatchKeySet, torch::jit::Stack *stack) {
  HostView view;
  Randomness randomness{op.hasTag(at::Tag::nondeterministic_seeded), std::nullopt};
  const size_t first = stack->size() - op.schema().arguments().size();
  torch::jit::Stack given;
  Graph *graph = captured_graph();
  if (graph) {
    given.assign(stack->begin() + int64_t(first), stack->end());
    preserve_written(op, given, *graph);
  }
  for (size_t i = first; i < stack->size(); i++) argument_to_host((*stack)[i], view, randomness);
  synchronize(view.device());
  call_host(op, stack, randomness, view.device());
  view.follow_resizes();
  for (size_t i = first; i < stack->size(); i++) result_to_device((*stack)[i], view);
  if (graph) graph->add(repetition(op, given, c10::ArrayRef<IValue>(*stack).slice(first)));
}

}  // namespace soft_cann
