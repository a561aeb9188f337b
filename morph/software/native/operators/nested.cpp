// Nested tensors of the device. torch's CPU kernels for them work on the buffer through other operators, and
// read only sizes, which are on the host: they serve as the device's kernels too.
#include "device/device.h"
#include "memory/host_view.h"
#include "operators/kernels.h"
#include "operators/operators.h"

#include <ATen/NestedTensorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/nested/NestedTensorBinaryOps.h>
#include <ATen/native/nested/NestedTensorMath.h>
#include <ATen/ops/add.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/_transform_bias_rescale_qkv.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>

#include <unordered_set>

namespace software {
namespace {

using c10::DispatchKey;
using torch::jit::Stack;

// A build with CUDA has no kernels for these, except for the last four.
const std::unordered_set<std::string> kOnlyOnTheHost{"aten::sum.dim_IntList", "aten::_nested_sum_backward",
                                                     "aten::is_pinned", "aten::_pin_memory",
                                                     "aten::_transform_bias_rescale_qkv", "aten::native_layer_norm",
                                                     "aten::native_layer_norm_backward", "aten::_fused_sdp_choice"};
// Operators on the dense tensors of a nested one.
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

// The operator that reads the elements.
std::tuple<at::Tensor, at::Tensor, at::Tensor> rescaled(const at::Tensor& qkv, const at::Tensor& bias, int64_t heads) {
  auto [query, key, value] = at::_transform_bias_rescale_qkv(nested_host_view(qkv), host_view(bias), heads);
  return {to_device(query, bias.device()), to_device(key, bias.device()), to_device(value, bias.device())};
}

at::Tensor wrapped(const at::Tensor& buffer, const at::Tensor& like) {
  return at::detail::make_tensor<at::native::NestedTensorImpl>(
      buffer.reshape({-1}), at::native::get_nested_tensor_impl(like)->get_nested_sizes());
}

at::Tensor rows(const at::Tensor& nested, c10::SymIntArrayRef shape) {
  return at::native::get_nested_tensor_impl(nested)->get_buffer().reshape_symint({-1, c10::multiply_integers(shape)});
}

// torch finds the kernel in a table that only a build with CUDA fills.
std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm(const at::Tensor& input, c10::SymIntArrayRef shape,
                                                          const std::optional<at::Tensor>& weight,
                                                          const std::optional<at::Tensor>& bias, double eps) {
  TORCH_CHECK(weight && weight->defined() && bias && bias->defined(), "NestedTensor layer_norm requires weight and bias");
  at::native::_check_nested_layer_norm_inputs(*at::native::get_nested_tensor_impl(input),
                                              C10_AS_INTARRAYREF_SLOW(shape), *weight, *bias);
  auto [result, mean, deviation] =
      at::native_layer_norm_symint(rows(input, shape), {c10::multiply_integers(shape)}, weight->flatten(),
                                   bias->flatten(), eps);
  return {wrapped(result, input), mean.flatten(), deviation.flatten()};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_backward(
    const at::Tensor& gradient, const at::Tensor& input, c10::SymIntArrayRef shape, const at::Tensor& mean,
    const at::Tensor& deviation, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
    std::array<bool, 3> wanted) {
  auto [of_input, of_weight, of_bias] = at::native_layer_norm_backward_symint(
      rows(gradient, shape), rows(input, shape), {c10::multiply_integers(shape)}, mean.unsqueeze(1),
      deviation.unsqueeze(1), weight->flatten(), bias->flatten(), wanted);
  return {wanted[0] ? wrapped(of_input, input) : of_input, wanted[1] ? of_weight.view_symint(shape) : of_weight,
          wanted[2] ? of_bias.view_symint(shape) : of_bias};
}

// A nested tensor [B, *, D] and a dense one [B, 1, D]; torch's table has a function of CUDA's alone.
void each_with_dense(at::Tensor& result, const at::Tensor& nested, const at::Tensor& dense,
                     const at::native::NESTED_DENSE_OP& operation) {
  auto from = nested.unbind(), to = result.unbind();
  for (size_t i = 0; i < from.size(); i++) {
    at::Tensor other = dense[int64_t(i)];
    if (operation == at::native::NESTED_DENSE_OP::ADD) at::add_out(to[i], from[i], other);
    else at::mul_out(to[i], from[i], other);
  }
}

}  // namespace

void install_nested() {
  if (settings().type == c10::DeviceType::CUDA)
    at::native::nested_dense_elementwise_stub.set_cuda_dispatch_ptr(&each_with_dense);

  torch::Library& nested = library_for(nested_key());
  for (const auto& name : c10::Dispatcher::singleton().getRegistrationsForDispatchKey(DispatchKey::NestedTensorCPU))
    if (!kOnlyOnTheHost.count(c10::toString(name)))
      boxed<&by_kernel_of<DispatchKey::NestedTensorCPU>>(nested, {c10::toString(name).c_str()});
  nested.impl("_transform_bias_rescale_qkv", &rescaled);
  nested.impl("native_layer_norm", &layer_norm);
  nested.impl("native_layer_norm_backward", &layer_norm_backward);
  boxed<&by_kernel_of<DispatchKey::CPU>>(library_for(backend_key()), kMakeNested);
}

}  // namespace software
