// Nested tensors of the device. torch's kernels for those of the CPU work on the buffer through other operators, and
// read nothing but sizes themselves, which are the host's: they are the device's kernels too.
#include "device.h"
#include "host_view.h"
#include "operators.h"

#include <ATen/NestedTensorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_transform_bias_rescale_qkv.h>
#include <torch/library.h>

#include <unordered_set>

namespace software {
namespace {

using c10::DispatchKey;
using torch::jit::Stack;

// A build for CUDA has no kernels of these, or, of the last, one of its own.
const std::unordered_set<std::string> kOnlyOnTheHost{"aten::sum.dim_IntList", "aten::_nested_sum_backward",
                                                     "aten::is_pinned", "aten::_pin_memory",
                                                     "aten::_transform_bias_rescale_qkv"};
// Operators on the dense tensors that a nested one is made of.
const char* const kMakeNested[] = {"_nested_from_padded", "_nested_tensor_from_mask",
                                   "_nested_tensor_from_mask_left_aligned", "_nested_view_from_buffer",
                                   "_nested_compute_contiguous_strides_offsets"};

DispatchKey nested_key() {
  switch (settings().type) {
    case c10::DeviceType::XPU: return DispatchKey::NestedTensorXPU;
    case c10::DeviceType::CUDA: return DispatchKey::NestedTensorCUDA;
    default: return DispatchKey::NestedTensorPrivateUse1;
  }
}

template <DispatchKey key>
void by_kernel_of(const c10::OperatorHandle& op, Stack* stack) {
  op.redispatchBoxed(c10::DispatchKeySet(key), stack);
}

at::Tensor nested_host_view(const at::Tensor& tensor) {
  auto* parts = at::native::get_nested_tensor_impl(tensor);
  return at::detail::make_tensor<at::native::NestedTensorImpl>(
      host_view(parts->get_unsafe_storage_as_tensor()), parts->get_nested_sizes(), parts->get_nested_strides(),
      parts->get_storage_offsets());
}

// The one that reads the numbers themselves.
std::tuple<at::Tensor, at::Tensor, at::Tensor> rescaled(const at::Tensor& qkv, const at::Tensor& bias, int64_t heads) {
  auto [query, key, value] = at::_transform_bias_rescale_qkv(nested_host_view(qkv), host_view(bias), heads);
  return {to_device(query, bias.device()), to_device(key, bias.device()), to_device(value, bias.device())};
}

}  // namespace

void install_nested() {
  static auto* nested = new torch::Library(torch::Library::IMPL, "aten", nested_key(), __FILE__, __LINE__);
  for (const auto& name : c10::Dispatcher::singleton().getRegistrationsForDispatchKey(DispatchKey::NestedTensorCPU))
    if (!kOnlyOnTheHost.count(c10::toString(name)))
      nested->impl(c10::toString(name).c_str(),
                   torch::CppFunction::makeFromBoxedFunction<&by_kernel_of<DispatchKey::NestedTensorCPU>>());
  nested->impl("_transform_bias_rescale_qkv", &rescaled);
  static auto* dense = new torch::Library(torch::Library::IMPL, "aten", backend_key(), __FILE__, __LINE__);
  for (const char* name : kMakeNested)
    dense->impl(name, torch::CppFunction::makeFromBoxedFunction<&by_kernel_of<DispatchKey::CPU>>());
}

}  // namespace software
