// Puts the host's kernels in the place of torch_npu's, for every aten operator that both have, except those
// that allocate, view and copy, or are made of others: these stay torch_npu's own.
#include <torch/library.h>

#include <set>
#include <string>

#include "kernels/call.h"
#include "kernels/default_autograd.h"
#include "soft_cann.h"

namespace soft_cann {
namespace {

const std::set<std::string> kStayTorchNpus = {
    "aten::_copy_from_and_resize",
    "aten::_lazy_clone",
    "aten::_local_scalar_dense",
    "aten::_pack_padded_sequence",
    "aten::_pad_packed_sequence",
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
constexpr const char *kDefaultAutograd[] = {"lstm.input", "gru.input", "one_hot", "renorm", "renorm_"};

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
  autograd.impl("lstm.data", torch::CppFunction::makeFromBoxedFunction<&run_lstm_on_padded>());
}

}  // namespace

void install_kernels() {
  static const bool once = (register_kernels(), true);
  (void)once;
}

}  // namespace soft_cann
