// Puts the host's kernels in the place of torch_npu's, for every aten operator that both have, except those
// that allocate, view and copy: these stay torch_npu's own.
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/library.h>

#include <memory>
#include <set>
#include <string>

#include "kernels/host_view.h"
#include "kernels/seeding.h"
#include "soft_cann.h"

namespace soft_cann {
namespace {

using c10::IValue;

const std::set<std::string> kStayTorchNpus = {
    "aten::_copy_from_and_resize",
    "aten::_lazy_clone",
    "aten::_local_scalar_dense",
    "aten::_pin_memory",
    "aten::_reshape_alias",
    "aten::_to_copy",
    "aten::as_strided",
    "aten::as_strided_",
    "aten::clone",
    "aten::contiguous",
    "aten::copy_",
    "aten::empty",
    "aten::empty_like",
    "aten::empty_strided",
    "aten::empty_with_format",
    "aten::empty_with_swapped_memory",
    "aten::is_pinned",
    "aten::is_set_to",
    "aten::new_empty_strided",
    "aten::record_stream",
    "aten::resize_",
    "aten::resize_as_",
    "aten::set_",
    "aten::squeeze",
    "aten::unfold",
    "aten::unsafe_empty_with_format",
    "aten::unsqueeze",
    "aten::view",
    "aten::view_as_complex",
    "aten::view_as_real",
};

// torch_npu's own autograd kernels of these end in graph-mode operators.
constexpr const char *kDefaultAutograd[] = {"lstm.input", "lstm.data", "gru.input", "one_hot", "renorm", "renorm_"};

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

// torch_npu queues its own work on another thread.
void synchronize(c10::Device device) {
  static const c10::impl::VirtualGuardImpl guard(c10::DeviceType::PrivateUse1);
  guard.synchronizeDevice(device.index());
}

void run_on_host(const c10::OperatorHandle &op, c10::DispatchKeySet, torch::jit::Stack *stack) {
  HostView view;
  Randomness randomness{op.hasTag(at::Tag::nondeterministic_seeded), std::nullopt};
  auto arguments = stack->end() - int64_t(op.schema().arguments().size());
  for (auto argument = arguments; argument != stack->end(); ++argument)
    argument_to_host(*argument, view, randomness);
  synchronize(view.device());
  {
    std::optional<SeededFromDevice> seeded;
    if (randomness.drawn) seeded.emplace(randomness.generator, view.device());
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }
  view.follow_resizes();
  auto results = stack->end() - int64_t(op.schema().returns().size());
  for (auto result = results; result != stack->end(); ++result) result_to_device(*result, view);
}

// PyTorch's own kernel, its decomposition or its derivative formula, which is what the autograd key of a
// backend that registers nothing resolves to.
void run_default_autograd(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack) {
  op.getComputedKernelForDispatchKey(c10::DispatchKey::AutogradXLA).callBoxed(op, keys, stack);
}

// PyTorch warns when a kernel takes another's place, which is the point here.
struct NoWarnings : c10::WarningHandler {
  void process(const c10::Warning &) override {}
};

// Never taken back.
torch::Library &registrations(c10::DispatchKey key) {
  return *new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
}

bool runs_on_host(const c10::OperatorName &name) {
  if (name.name.rfind("aten::", 0) != 0 || kStayTorchNpus.count(name.name)) return false;
  auto op = c10::Dispatcher::singleton().findOp(name);
  return op && op->hasComputedKernelForDispatchKey(c10::DispatchKey::CPU);
}

void register_kernels() {
  NoWarnings none;
  c10::WarningUtils::WarningHandlerGuard guard(&none);
  auto &kernels = registrations(c10::DispatchKey::PrivateUse1);
  for (auto &name : c10::Dispatcher::singleton().getRegistrationsForDispatchKey(c10::DispatchKey::PrivateUse1))
    if (runs_on_host(name))
      kernels.impl(c10::toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
  auto &autograd = registrations(c10::DispatchKey::AutogradPrivateUse1);
  for (auto name : kDefaultAutograd)
    autograd.impl(name, torch::CppFunction::makeFromBoxedFunction<&run_default_autograd>());
}

}  // namespace

void install_kernels() {
  static const bool once = (register_kernels(), true);
  (void)once;
}

}  // namespace soft_cann
