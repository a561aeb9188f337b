// Batch normalization: in single precision for halves, and with what CUDA's kernels save for the backward pass.
#include "operators/kernels.h"
#include "operators/parameters.h"
#include "operators/unboxed.h"

#include <ATen/AccumulateType.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/rsqrt.h>

namespace software {
namespace {

using at::Tensor;
using Optional = std::optional<Tensor>;
using Batches = std::tuple<Tensor, Tensor, Tensor>;

Optional accumulated(const Optional& figures, const Tensor& input) {
  return given(figures) ? Optional(figures->to(at::toAccumulateType(input.scalar_type(), c10::kCUDA))) : std::nullopt;
}

void keep(const Optional& figures, const Optional& own) {
  if (given(figures) && !figures->is_same(*own)) figures->copy_(*own);
}

Batches with_saved(Batches all, const Tensor& mean, const Tensor& variance, double eps) {
  return {std::get<0>(all), mean.clone(), (variance + eps).rsqrt()};
}

// The CPU's kernel takes halves beside parameters in single precision, and all figures in one type.
Batches batch_norm(const Tensor& input, const Optional& weight, const Optional& bias, const Optional& mean,
                   const Optional& variance, bool training, double momentum, double eps) {
  if (is_reduced(input) && !(given(weight) && weight->scalar_type() == at::kFloat))
    return batch_norm(input, single_weight(weight, input.size(1), input), single(bias), mean, variance, training,
                      momentum, eps);
  Optional own_mean = accumulated(mean, input), own_variance = accumulated(variance, input);
  Batches all = at::native_batch_norm(input, weight, bias, own_mean, own_variance, training, momentum, eps);
  if (!training) return with_saved(std::move(all), *own_mean, *own_variance, eps);
  keep(mean, own_mean), keep(variance, own_variance);
  return all;
}

Batches batch_norm_legit(const Tensor& input, const Optional& weight, const Optional& bias, Tensor& mean,
                         Tensor& variance, bool training, double momentum, double eps) {
  return batch_norm(input, weight, bias, mean, variance, training, momentum, eps);
}

Batches batch_norm_without_figures(const Tensor& input, const Optional& weight, const Optional& bias, bool training,
                                   double momentum, double eps) {
  return batch_norm(input, weight, bias, {}, {}, training, momentum, eps);
}

// cuDNN's reserve, which the CPU's kernel has not: as of torch's own kernels for CUDA.
std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_with_update(const Tensor& input, const Optional& weight,
                                                                  const Optional& bias, Tensor& mean, Tensor& variance,
                                                                  double momentum, double eps) {
  auto [result, saved, scale] = batch_norm(input, weight, bias, mean, variance, true, momentum, eps);
  return {result, saved, scale, at::empty({0}, input.options().dtype(at::kByte))};
}

// The CPU's kernel writes the running figures, of which the operator's schema says nothing.
void make_own(const Optional& figures) {
  if (given(figures)) figures->storage().mutable_data();
}

Batches batch_norm_of_device(const Tensor& input, const Optional& weight, const Optional& bias, const Optional& mean,
                             const Optional& variance, bool training, double momentum, double eps) {
  if (training) make_own(mean), make_own(variance);
  using Host = OnHost<"aten::native_batch_norm", &batch_norm>;
  return Host::call(input, weight, bias, mean, variance, training, momentum, eps);
}

// CUDA's fused kernel reads every parameter in one type; its kernels for channels that lie last do not.
bool is_one_kernel(const Tensor& input) {
  bool last = input.is_contiguous(at::MemoryFormat::ChannelsLast) || input.is_contiguous(at::MemoryFormat::ChannelsLast3d);
  return !last && !(input.is_contiguous() && input.stride(1) == 1);
}

void refuse_one_kernel(const Tensor& input, const Optional& weight, const Optional& mean) {
  bool differ = given(weight) && given(mean) && is_reduced(*weight) && mean->scalar_type() == at::kFloat;
  TORCH_CHECK(!differ || weight->scalar_type() != input.scalar_type() || !is_one_kernel(input), "expected scalar type ",
              toString(weight->scalar_type()), " but found Float");
}

// Outside training the CPU's kernel needs nothing saved, and refuses single precision beside halves.
Batches batch_norm_backward(const Tensor& gradient, const Tensor& input, const Optional& weight, const Optional& mean,
                            const Optional& variance, const Optional& saved, const Optional& scale, bool training,
                            double eps, std::array<bool, 3> wanted) {
  if (wanted[0] && (training || wanted[1] || wanted[2])) refuse_one_kernel(input, weight, mean);
  Optional wide = is_reduced(input) ? Optional(single_weight(weight, input.size(1), input)) : weight, none;
  auto [of_input, of_weight, of_bias] = at::native_batch_norm_backward(
      gradient, input, wide, accumulated(mean, input), accumulated(variance, input),
      training ? accumulated(saved, input) : none, training ? accumulated(scale, input) : none, training, eps, wanted);
  if (of_weight.defined() && given(weight)) of_weight = of_weight.to(weight->scalar_type());
  if (of_bias.defined() && given(weight)) of_bias = of_bias.to(weight->scalar_type());
  return {of_input, of_weight, of_bias};
}

Batches batch_norm_backward_of_update(const Tensor& gradient, const Tensor& input, const Tensor& weight,
                                      const Optional& mean, const Optional& variance, const Optional& saved,
                                      const Optional& scale, bool training, double eps, std::array<bool, 3> wanted,
                                      const Tensor&) {
  return batch_norm_backward(gradient, input, weight, mean, variance, saved, scale, training, eps, wanted);
}

}  // namespace

KERNELS_OF_CUDA(batches, library) {
  library.impl("native_batch_norm", &batch_norm_of_device);
  on_host<"aten::native_batch_norm_backward", &batch_norm_backward>(library);
  on_host<"aten::_native_batch_norm_legit", &batch_norm_legit>(library);
  on_host<"aten::batch_norm_backward", &batch_norm_backward_of_update>(library);
  on_host<"aten::_batch_norm_with_update", &batch_norm_with_update>(library);
  on_host<"aten::_native_batch_norm_legit.no_stats", &batch_norm_without_figures>(library);
}

}  // namespace software
