// Synchronized batch normalization, which torch has for CUDA only, and cuDNN's batch normalization.
#include "operators/fallback.h"
#include "operators/kernels.h"
#include "operators/operators.h"

#include <ATen/AccumulateType.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/rsqrt.h>

namespace software {
namespace {

using at::Tensor;
using Optional = std::optional<Tensor>;

// Half precision is accumulated in single.
at::ScalarType accumulation_type(const Tensor& tensor) { return at::toAccumulateType(tensor.scalar_type(), c10::kCUDA); }

std::vector<int64_t> all_but_channels(const Tensor& tensor) {
  std::vector<int64_t> dimensions;
  for (int64_t i = 0; i < tensor.dim(); i++)
    if (i != 1) dimensions.push_back(i);
  return dimensions;
}

Tensor along_channels(const Tensor& parameter, const Tensor& input) {
  std::vector<int64_t> shape(size_t(input.dim()), 1);
  shape[1] = parameter.numel();
  return parameter.to(accumulation_type(input)).view(shape);
}

std::tuple<Tensor, Tensor> stats(const Tensor& input, double eps) {
  Tensor wider = input.to(accumulation_type(input));
  auto over = all_but_channels(input);
  return {wider.mean(over), (wider.var(over, /*unbiased=*/false) + eps).rsqrt()};
}

Tensor normalized(const Tensor& input, const Optional& weight, const Optional& bias, const Tensor& mean,
                  const Tensor& invstd, double) {
  Tensor result = (input.to(accumulation_type(input)) - along_channels(mean, input)) * along_channels(invstd, input);
  if (given(weight)) result = result * along_channels(*weight, input);
  if (given(bias)) result = result + along_channels(*bias, input);
  return result.to(input.scalar_type());
}

Tensor& normalized_into(const Tensor& input, const Optional& weight, const Optional& bias, const Tensor& mean,
                        const Tensor& invstd, double eps, Tensor& out) {
  return out.copy_(normalized(input, weight, bias, mean, invstd, eps));
}

void update(const Optional& running, const Tensor& fresh, double momentum) {
  if (given(running)) running->copy_(*running * (1 - momentum) + fresh * momentum);
}

// For each part of the batch: a row of means, a row of inverse deviations, and a count.
std::tuple<Tensor, Tensor> gather_with_counts(const Tensor& input, const Tensor& mean, const Tensor& invstd,
                                              const Optional& running_mean, const Optional& running_var,
                                              double momentum, double eps, const Tensor& counts) {
  auto type = accumulation_type(input);
  Tensor parts = counts.to(type).view({-1, 1}), means = mean.to(type), total = parts.sum();
  Tensor whole = (means * parts).sum(0) / total;
  Tensor variances = invstd.to(type).pow(-2) - eps;
  Tensor squares = ((variances + (means - whole).pow(2)) * parts).sum(0);
  update(running_mean, whole, momentum);
  update(running_var, squares / (total - 1), momentum);
  return {whole, (squares / total + eps).rsqrt()};
}

std::tuple<Tensor, Tensor> gather_stats(const Tensor& input, const Tensor& mean, const Tensor& invstd,
                                  const Optional& running_mean, const Optional& running_var, double momentum,
                                  double eps, int64_t count) {
  Tensor counts = at::full({mean.size(0)}, count, mean.options());
  return gather_with_counts(input, mean, invstd, running_mean, running_var, momentum, eps, counts);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> backward_sums(const Tensor& gradient, const Tensor& input,
                                                         const Tensor& mean, const Tensor& invstd,
                                                         const Optional& weight, bool of_input, bool of_weight,
                                                         bool of_bias) {
  auto over = all_but_channels(input);
  Tensor wider = gradient.to(accumulation_type(input));
  Tensor sum = wider.sum(over);
  Tensor with_input = (wider * (input.to(accumulation_type(input)) - along_channels(mean, input))).sum(over);
  auto type = given(weight) ? weight->scalar_type() : input.scalar_type();
  Tensor none;
  return {of_input ? sum : none, of_input ? with_input : none,
          of_weight ? (with_input * invstd).to(type) : none, of_bias ? sum.to(type) : none};
}

Tensor elementwise_backward(const Tensor& gradient, const Tensor& input, const Tensor& mean, const Tensor& invstd,
                const Optional& weight, const Tensor& sum, const Tensor& sum_with_input, const Tensor& counts) {
  Tensor share = counts.to(accumulation_type(input)).sum().reciprocal();
  Tensor deviation = along_channels(invstd, input);
  Tensor centered = input.to(accumulation_type(input)) - along_channels(mean, input);
  Tensor result = gradient.to(accumulation_type(input)) - along_channels(sum, input) * share -
                  centered * deviation * deviation * along_channels(sum_with_input, input) * share;
  result = result * deviation;
  if (given(weight)) result = result * along_channels(*weight, input);
  return result.to(input.scalar_type());
}

std::tuple<Tensor, Tensor, Tensor, Tensor> cudnn_batch_norm(const Tensor& input, const Tensor& weight, const Optional& bias,
                                                 const Optional& running_mean, const Optional& running_var,
                                                 bool training, double momentum, double eps) {
  auto [result, mean, invstd] =
      at::native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
  Tensor none = at::empty({0}, input.options().dtype(at::kByte));
  if (!training) mean = invstd = at::empty({0}, weight.options());
  return {result, mean, invstd, none};
}

std::tuple<Tensor, Tensor, Tensor> cudnn_batch_norm_backward(const Tensor& input, const Tensor& gradient, const Tensor& weight,
                                                  const Optional& running_mean, const Optional& running_var,
                                                  const Optional& mean, const Optional& invstd, double eps,
                                                  const Tensor&) {
  return at::native_batch_norm_backward(gradient, input, weight, running_mean, running_var, mean, invstd, true, eps,
                                        {true, true, true});
}

// rms_norm of its parts, as torch has it for other devices: a torch for CUDA has CUDA's backward kernel alone.
std::tuple<Tensor, Tensor> rms_norm(const Tensor& input, at::IntArrayRef shape, const Optional& weight,
                                    std::optional<double> eps) {
  Tensor wide = input.to(accumulation_type(input));
  std::vector<int64_t> dimensions;
  for (int64_t i = 1; i <= int64_t(shape.size()); i++) dimensions.push_back(-i);
  bool twofold = wide.scalar_type() == at::kDouble;
  double least = twofold ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  Tensor scale = at::rsqrt((wide * wide).mean(dimensions, true) + eps.value_or(least));
  Tensor result = given(weight) ? wide * scale * *weight : wide * scale;
  return {result.to(input.scalar_type()), scale};
}

}  // namespace

KERNELS_OF_CUDA(normalization, library) {
  library.impl("batch_norm_stats", &stats);
  library.impl("batch_norm_elemt", &normalized);
  library.impl("batch_norm_elemt.out", &normalized_into);
  library.impl("batch_norm_gather_stats", &gather_stats);
  library.impl("batch_norm_gather_stats_with_counts", &gather_with_counts);
  library.impl("batch_norm_backward_reduce", &backward_sums);
  library.impl("batch_norm_backward_elemt", &elementwise_backward);
  library.impl("cudnn_batch_norm", &cudnn_batch_norm);
  library.impl("cudnn_batch_norm_backward", &cudnn_batch_norm_backward);
  if (!is_displaced() || !c10::Dispatcher::singleton().findSchema({"aten::_fused_rms_norm", ""})) return;  // since 2.9
  torch::Library& differentiable = library_for(autograd_key());
  differentiable.impl("_fused_rms_norm", &rms_norm);
}

}  // namespace software
