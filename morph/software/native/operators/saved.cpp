// What CUDA's kernels return for the backward pass and the CPU's leave out or round: by what layers were normalized, and
// to which bag of EmbeddingBag each index belongs.
#include "operators/kernels.h"
#include "operators/parameters.h"
#include "operators/unboxed.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_embedding_bag.h>
#include <ATen/ops/_embedding_bag_forward_only.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/log_sigmoid_backward.h>
#include <ATen/ops/log_sigmoid_forward.h>
#include <ATen/ops/silu_backward.h>
#include <ATen/ops/native_group_norm.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/searchsorted.h>

namespace software {
namespace {

using at::Tensor;
using Optional = std::optional<Tensor>;
using Layers = std::tuple<Tensor, Tensor, Tensor>;
using Bags = std::tuple<Tensor, Tensor, Tensor, Tensor>;

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

// Without a kernel of the device's, torch would compute it by others that a trace then shows.
Tensor silu_backward(const Tensor& gradient, const Tensor& self) { return at::silu_backward(gradient, self); }

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

KERNELS_OF_CUDA(saved, library) {
  on_host<"aten::native_group_norm", &normalized_groups>(library);
  on_host<"aten::native_layer_norm", &normalized_layers>(library);
  on_host<"aten::native_layer_norm_backward", &normalized_layers_backward>(library);
  on_host<"aten::log_sigmoid_forward", &log_sigmoid>(library);
  on_host<"aten::silu_backward", &silu_backward>(library);
  on_host<"aten::log_sigmoid_backward", &log_sigmoid_backward>(library);
  on_host<"aten::_embedding_bag", &embedding_bag>(library);
  on_host<"aten::_embedding_bag_forward_only", &embedding_bag_forward>(library);
}

}  // namespace software
