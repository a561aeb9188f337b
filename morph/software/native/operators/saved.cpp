// What CUDA's kernels return for the backward pass and the CPU's leave out or round: by what batches were normalized
// outside training, by what layers were normalized, and to which bag of EmbeddingBag each index belongs.
#include "operators/operators.h"
#include "operators/unboxed.h"

#include <ATen/AccumulateType.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_embedding_bag.h>
#include <ATen/ops/_embedding_bag_forward_only.h>
#include <ATen/ops/_native_batch_norm_legit.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/log_sigmoid_backward.h>
#include <ATen/ops/log_sigmoid_forward.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/native_group_norm.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/searchsorted.h>
#include <torch/library.h>

namespace software {
namespace {

using at::Tensor;
using Optional = std::optional<Tensor>;
using Batches = std::tuple<Tensor, Tensor, Tensor>;
using Layers = std::tuple<Tensor, Tensor, Tensor>;
using Bags = std::tuple<Tensor, Tensor, Tensor, Tensor>;

bool is_reduced(const Tensor& tensor) {
  return tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16;
}

Optional single(const Optional& parameter) {
  return given(parameter) ? Optional(parameter->to(at::kFloat)) : std::nullopt;
}

// The CPU's kernels take statistics in single precision only beside parameters in single precision.
bool statistics_are_wider(const Tensor& input, const Optional& weight, const Optional& mean) {
  return given(weight) && given(mean) && is_reduced(*weight) && weight->scalar_type() == input.scalar_type() &&
         mean->scalar_type() == at::kFloat;
}

// The CPU's take them in one type, that of the input or single precision.
bool are_mixed(const Tensor& input, const Optional& mean, const Optional& variance) {
  if (!given(mean) || !given(variance)) return false;
  at::ScalarType type = mean->scalar_type();
  bool alike = type == variance->scalar_type();
  return !alike || (type != input.scalar_type() && type != at::toAccumulateType(input.scalar_type(), c10::kCUDA));
}
Tensor accumulated(const Tensor& figures, const Tensor& input) {
  return figures.to(at::toAccumulateType(input.scalar_type(), c10::kCUDA));
}

Batches with_saved(Batches all, const Tensor& input, const Tensor& mean, const Tensor& variance, double eps) {
  auto type = at::toAccumulateType(input.scalar_type(), c10::kCUDA);
  return {std::get<0>(all), mean.to(type, false, /*copy=*/true), (variance.to(type) + eps).rsqrt()};
}

Batches batch_norm(const Tensor& input, const Optional& weight, const Optional& bias, const Optional& mean,
                   const Optional& variance, bool training, double momentum, double eps) {
  if (are_mixed(input, mean, variance)) {
    Tensor own_mean = accumulated(*mean, input), own_variance = accumulated(*variance, input);
    Batches all = batch_norm(input, weight, bias, own_mean, own_variance, training, momentum, eps);
    if (training) mean->copy_(own_mean), variance->copy_(own_variance);
    return all;
  }
  if (statistics_are_wider(input, weight, mean))
    return batch_norm(input, single(weight), single(bias), mean, variance, training, momentum, eps);
  Batches all = at::native_batch_norm(input, weight, bias, mean, variance, training, momentum, eps);
  return training ? all : with_saved(std::move(all), input, *mean, *variance, eps);
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

// Outside training the CPU's kernel needs nothing saved, and refuses single precision beside halves.
Batches batch_norm_backward(const Tensor& gradient, const Tensor& input, const Optional& weight, const Optional& mean,
                            const Optional& variance, const Optional& saved, const Optional& scale, bool training,
                            double eps, std::array<bool, 3> wanted) {
  const Optional none;
  if (are_mixed(input, mean, variance))
    return batch_norm_backward(gradient, input, weight, accumulated(*mean, input), accumulated(*variance, input), saved,
                               scale, training, eps, wanted);
  if (statistics_are_wider(input, weight, mean)) {
    bool reduced = training || wanted[1] || wanted[2];
    TORCH_CHECK(!wanted[0] || !reduced || !is_one_kernel(input), "expected scalar type ", toString(weight->scalar_type()),
                " but found Float");
    auto [of_input, of_weight, of_bias] = batch_norm_backward(gradient, input, single(weight), mean, variance, saved,
                                                              scale, training, eps, wanted);
    if (of_weight.defined()) of_weight = of_weight.to(weight->scalar_type());
    if (of_bias.defined()) of_bias = of_bias.to(weight->scalar_type());
    return {of_input, of_weight, of_bias};
  }
  return at::native_batch_norm_backward(gradient, input, weight, mean, variance, training ? saved : none,
                                        training ? scale : none, training, eps, wanted);
}

Batches batch_norm_legit(const Tensor& input, const Optional& weight, const Optional& bias, Tensor& mean,
                         Tensor& variance, bool training, double momentum, double eps) {
  if (statistics_are_wider(input, weight, mean))
    return batch_norm_legit(input, single(weight), single(bias), mean, variance, training, momentum, eps);
  Batches all = at::_native_batch_norm_legit(input, weight, bias, mean, variance, training, momentum, eps);
  return training ? all : with_saved(std::move(all), input, mean, variance, eps);
}

// The CPU's kernel keeps means and deviations in the type of its parameters, CUDA's in single precision at least.
Tensor single_weight(const Optional& weight, at::IntArrayRef shape, const Tensor& input) {
  return given(weight) ? weight->to(at::kFloat) : at::ones(shape, input.options().dtype(at::kFloat));
}

void expect_type(const Tensor& input, const Optional& parameter) {
  TORCH_CHECK(!given(parameter) || parameter->scalar_type() == input.scalar_type(), "expected scalar type ",
              toString(input.scalar_type()), " but found ", toString(parameter->scalar_type()));
}

// The CPU's kernels also take parameters in single precision beside halves.
Layers normalized_groups(const Tensor& input, const Optional& weight, const Optional& bias, int64_t n, int64_t channels,
                         int64_t pixels, int64_t groups, double eps) {
  expect_type(input, weight), expect_type(input, bias);
  return at::native_group_norm(input, weight, bias, n, channels, pixels, groups, eps);
}

Layers normalized_layers(const Tensor& input, at::IntArrayRef shape, const Optional& weight, const Optional& bias,
                         double eps) {
  expect_type(input, weight), expect_type(input, bias);
  if (!is_reduced(input)) return at::native_layer_norm(input, shape, weight, bias, eps);
  return at::native_layer_norm(input, shape, single_weight(weight, shape, input), single(bias), eps);
}

Layers normalized_layers_backward(const Tensor& gradient, const Tensor& input, at::IntArrayRef shape, const Tensor& mean,
                                  const Tensor& scale, const Optional& weight, const Optional& bias,
                                  std::array<bool, 3> wanted) {
  if (!is_reduced(input) || is_reduced(mean))
    return at::native_layer_norm_backward(gradient, input, shape, mean, scale, weight, bias, wanted);
  auto [of_input, of_weight, of_bias] = at::native_layer_norm_backward(
      gradient, input, shape, mean, scale, single_weight(weight, shape, input), single(bias), wanted);
  if (of_weight.defined() && given(weight)) of_weight = of_weight.to(weight->scalar_type());
  if (of_bias.defined() && given(bias)) of_bias = of_bias.to(bias->scalar_type());
  return {of_input, of_weight, of_bias};
}

// The CPU's kernel saves the exponentials, CUDA's computes them again.
std::tuple<Tensor, Tensor> log_sigmoid(const Tensor& self) {
  return {std::get<0>(at::log_sigmoid_forward(self)), at::empty({0}, self.options())};
}

Tensor log_sigmoid_backward(const Tensor& gradient, const Tensor& self, const Tensor&) {
  return at::log_sigmoid_backward(gradient, self, self.abs().neg_().exp_());
}

constexpr int64_t SUM = 0, MAX = 2;  // modes of EmbeddingBag

Bags with_bags(Bags all, const Tensor& indices, const Tensor& offsets, int64_t mode, bool ends, int64_t padding) {
  auto& [result, bag, sizes, largest] = all;
  Tensor starts = ends ? offsets.narrow(0, 0, offsets.size(0) - 1) : offsets;
  bool narrow = indices.scalar_type() == at::kInt && offsets.scalar_type() == at::kInt;
  Tensor places = at::arange(indices.size(0), offsets.options());
  bag = at::searchsorted(starts, places, narrow, /*right=*/true) - 1;
  Tensor counted = bag.masked_select((indices != padding).logical_and(bag >= 0));
  bag.clamp_min_(0);
  if (mode == SUM) sizes = at::bincount(counted, {}, starts.size(0)).to(sizes.scalar_type());
  if (ends) sizes = at::constant_pad_nd(sizes, {0, 1});
  if (mode != MAX) largest = largest.narrow(0, 0, 0).clone();
  return all;
}

void refuse_bags_of(at::ScalarType type) {
  TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(type), "\"embedding_bag_cuda\" not implemented for '", toString(type), "'");
}

// What lies before the first bag is in none.
struct Filled {
  Filled(const Tensor& all, const Tensor& offsets, const Optional& factors)
      : indices(all), starts(offsets), weights(factors) {
    int64_t before = offsets.dim() == 1 && offsets.numel() ? offsets[0].item().toLong() : 0;
    if (before <= 0 || before > all.numel() || all.dim() != 1) return;
    indices = all.slice(0, before);
    starts = offsets - before;
    if (given(factors)) weights = factors->slice(0, before);
  }
  Tensor indices, starts;
  Optional weights;
};

Bags embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool by_frequency, int64_t mode,
                   bool sparse, const Optional& weights, bool ends, int64_t padding) {
  refuse_bags_of(weight.scalar_type());
  Filled in(indices, offsets, weights);
  Bags all = at::_embedding_bag(weight, in.indices, in.starts, by_frequency, mode, sparse, in.weights, ends, padding);
  return with_bags(std::move(all), indices, offsets, mode, ends, padding);
}

Bags embedding_bag_forward(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool by_frequency,
                           int64_t mode, bool sparse, const Optional& weights, bool ends, int64_t padding) {
  refuse_bags_of(weight.scalar_type());
  Filled in(indices, offsets, weights);
  Bags all = at::_embedding_bag_forward_only(weight, in.indices, in.starts, by_frequency, mode, sparse, in.weights,
                                             ends, padding);
  return with_bags(std::move(all), indices, offsets, mode, ends, padding);
}

}  // namespace

void install_saved() {
  if (settings().type != c10::DeviceType::CUDA) return;
  static torch::Library library(torch::Library::IMPL, "aten", backend_key(), __FILE__, __LINE__);
  library.impl("native_batch_norm", &batch_norm_of_device);
  library.impl("native_batch_norm_backward",
               &OnHost<"aten::native_batch_norm_backward", &batch_norm_backward>::call);
  library.impl("_native_batch_norm_legit", &OnHost<"aten::_native_batch_norm_legit", &batch_norm_legit>::call);
  library.impl("native_group_norm", &OnHost<"aten::native_group_norm", &normalized_groups>::call);
  library.impl("native_layer_norm", &OnHost<"aten::native_layer_norm", &normalized_layers>::call);
  library.impl("native_layer_norm_backward",
               &OnHost<"aten::native_layer_norm_backward", &normalized_layers_backward>::call);
  library.impl("log_sigmoid_forward", &OnHost<"aten::log_sigmoid_forward", &log_sigmoid>::call);
  library.impl("log_sigmoid_backward", &OnHost<"aten::log_sigmoid_backward", &log_sigmoid_backward>::call);
  library.impl("_embedding_bag", &OnHost<"aten::_embedding_bag", &embedding_bag>::call);
  library.impl("_embedding_bag_forward_only",
               &OnHost<"aten::_embedding_bag_forward_only", &embedding_bag_forward>::call);
}

}  // namespace software
