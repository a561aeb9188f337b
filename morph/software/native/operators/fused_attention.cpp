// The fused kernels of attention that programs call by name. Their arithmetic is done in single precision at least, as
// on a GPU; the generator state that they return lets the backward pass draw the same dropout.
#include "device/device.h"
#include "operators/operators.h"

#include <ATen/core/Tensor.h>
#include <ATen/Context.h>
#include <torch/library.h>

namespace software {
namespace {

using at::Tensor;
using Optional = std::optional<Tensor>;
using Scale = std::optional<double>;

constexpr int64_t kFromTopLeft = 1, kFromBottomRight = 2;  // where the diagonal of a causal mask begins

struct Draw {  // of dropout
  double probability = 0;
  Tensor seed, offset;
};

struct Mask {
  Optional bias;
  int64_t causal = 0;
  std::optional<int64_t> left, right;
};

Tensor number(int64_t value) { return at::scalar_tensor(value, at::kLong); }

Draw drawn(double probability, c10::Device place) {
  if (probability == 0) return {0, number(0), number(0)};
  at::Generator generator = at::globalContext().defaultGenerator(place);
  std::lock_guard<std::mutex> lock(generator.mutex());
  uint64_t offset = generator.get_offset();
  generator.set_offset(offset + 4);
  return {probability, number(int64_t(generator.current_seed())), number(int64_t(offset))};
}

// Fills it with the numbers that dropout compares with its probability.
Tensor& fill_drawn(Tensor& self, double, int64_t seed, int64_t offset) {
  at::Generator generator = at::globalContext().defaultGenerator(self.device()).clone();
  generator.set_current_seed(uint64_t(seed));
  generator.set_offset(uint64_t(offset));
  return self.uniform_(0, 1, generator);
}

Tensor are_kept(const Draw& draw, const Tensor& weights) {
  Tensor numbers = at::empty_like(weights, weights.options(), at::MemoryFormat::Contiguous);
  return fill_drawn(numbers, 0, draw.seed.item<int64_t>(), draw.offset.item<int64_t>()) > draw.probability;
}

// The dropout mask, scaled by 1 / (1 - p).
Tensor kept(const Draw& draw, const Tensor& weights) {
  return are_kept(draw, weights).to(weights.scalar_type()) / (1 - draw.probability);
}

at::ScalarType wide(const Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

double factor(Scale scale, const Tensor& query) { return scale.value_or(1 / std::sqrt(double(query.size(-1)))); }

Tensor heads_like(const Tensor& tensor, const Tensor& query) {  // repeats grouped heads
  return tensor.size(1) == query.size(1) ? tensor : tensor.repeat_interleave(query.size(1) / tensor.size(1), 1);
}

Tensor summed_heads(const Tensor& gradient, const Tensor& like) {
  if (gradient.size(1) == like.size(1)) return gradient;
  return gradient.unflatten(1, {like.size(1), gradient.size(1) / like.size(1)}).sum(2);
}

// (batch, heads, rows, columns), before softmax
Tensor scores(const Tensor& query, const Tensor& key, const Mask& mask, Scale scale) {
  auto type = wide(query);
  Tensor all = at::matmul(query.to(type), key.to(type).transpose(-2, -1)) * factor(scale, query);
  if (given(mask.bias)) all = all + mask.bias->to(type);
  int64_t rows = all.size(-2), columns = all.size(-1);
  if (!mask.causal && !mask.left && !mask.right) return all;
  Tensor distance = at::arange(columns, all.options().dtype(at::kLong)) -
                    at::arange(rows, all.options().dtype(at::kLong)).unsqueeze(1);
  if (mask.causal != kFromTopLeft) distance = distance - (columns - rows);
  Tensor hidden = at::zeros_like(distance, at::kBool);
  if (mask.causal) hidden = hidden | (distance > 0);
  if (mask.left && *mask.left >= 0) hidden = hidden | (distance < -*mask.left);
  if (mask.right && *mask.right >= 0) hidden = hidden | (distance > *mask.right);
  return all.masked_fill(hidden, -std::numeric_limits<double>::infinity());
}

Tensor weights_of(const Tensor& all, const Tensor& logsumexp) {
  return (all - logsumexp.unsqueeze(-1)).exp().nan_to_num(0, 0, 0);  // a fully masked row
}

std::pair<Tensor, Tensor> attend(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask,
                                 const Draw& draw, Scale scale) {
  Tensor all = scores(query, heads_like(key, query), mask, scale);
  Tensor logsumexp = all.logsumexp(-1);
  Tensor weights = weights_of(all, logsumexp);
  if (draw.probability > 0) weights = weights * kept(draw, weights);
  Tensor result = at::matmul(weights, heads_like(value, query).to(weights.scalar_type()));
  return {result.to(query.scalar_type()), logsumexp};
}

struct Gradients { Tensor query, key, value, bias; };

Gradients backward(const Tensor& gradient, const Tensor& query, const Tensor& key, const Tensor& value,
                   const Tensor& logsumexp, const Mask& mask, const Draw& draw, Scale scale) {
  auto type = wide(query);
  Tensor keys = heads_like(key, query).to(type), values = heads_like(value, query).to(type);
  Tensor outer = gradient.to(type), weights = weights_of(scores(query, keys, mask, scale), logsumexp.to(type));
  Tensor factors = draw.probability > 0 ? kept(draw, weights) : Tensor();
  Tensor of_value = at::matmul((factors.defined() ? weights * factors : weights).transpose(-2, -1), outer);
  Tensor of_weights = at::matmul(outer, values.transpose(-2, -1));
  if (factors.defined()) of_weights = of_weights * factors;
  Tensor of_scores = weights * (of_weights - (of_weights * weights).sum(-1, true));
  double by = factor(scale, query);
  Tensor of_key = at::matmul(of_scores.transpose(-2, -1), query.to(type)) * by;
  return {(at::matmul(of_scores, keys) * by).to(query.scalar_type()),
          summed_heads(of_key, key).to(key.scalar_type()), summed_heads(of_value, value).to(value.scalar_type()),
          of_scores};
}

// The kernels keep (batch, rows, heads, width) in memory and give the transposed view.
Tensor by_rows(const Tensor& result) { return result.transpose(1, 2).contiguous().transpose(1, 2); }

Tensor rng_state(const Draw& draw) { return at::stack({draw.seed, draw.offset}); }

Tensor no_mask(const Tensor& query) { return at::empty({0}, query.options()); }

// The weights, of which those that are dropped are negative; FlashAttention's kernel fills whole tiles.
Tensor debug_mask(const Tensor& query, const Tensor& key, const Mask& mask, const Draw& draw, Scale scale) {
  Tensor all = scores(query, heads_like(key, query), mask, scale);
  Tensor weights = weights_of(all, all.logsumexp(-1));
  Tensor marked = at::where(are_kept(draw, weights), weights, -weights).to(query.scalar_type());
  auto padding = [](int64_t length) { return (128 - length % 128) % 128; };
  return at::constant_pad_nd(marked, {0, padding(key.size(2)), 0, padding(query.size(2))});
}

auto flash(const Tensor& query, const Tensor& key, const Tensor& value, double dropout, bool causal, bool debug,
           Scale scale) {
  Draw draw = drawn(dropout, query.device());
  Mask mask{{}, causal ? kFromTopLeft : 0};
  auto [result, logsumexp] = attend(query, key, value, mask, draw, scale);
  Tensor shown = debug && dropout > 0 ? debug_mask(query, key, mask, draw, scale) : no_mask(query);
  return std::make_tuple(by_rows(result), logsumexp.to(at::kFloat), Tensor(), Tensor(), c10::SymInt(query.size(2)),
                         c10::SymInt(key.size(2)), draw.seed, draw.offset, shown);
}

std::tuple<Tensor, Tensor, Tensor> flash_backward(const Tensor& gradient, const Tensor& query, const Tensor& key,
                                                  const Tensor& value, const Tensor&, const Tensor& logsumexp,
                                                  const Tensor&, const Tensor&, c10::SymInt, c10::SymInt,
                                                  double dropout, bool causal, const Tensor& seed,
                                                  const Tensor& offset, Scale scale) {
  auto all = backward(gradient, query, key, value, logsumexp, {{}, causal ? kFromTopLeft : 0}, {dropout, seed, offset},
                      scale);
  return {all.query, all.key, all.value};
}

// The kernel's rows are a multiple of 32.
Tensor padded(const Tensor& logsumexp) {
  int64_t rows = logsumexp.size(-1);
  return at::constant_pad_nd(logsumexp, {0, (32 - rows % 32) % 32}, std::numeric_limits<double>::infinity());
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient(const Tensor& query, const Tensor& key, const Tensor& value,
                                                     const Optional& bias, bool with_logsumexp, double dropout,
                                                     bool causal, Scale scale) {
  Draw draw = drawn(dropout, query.device());
  auto [result, logsumexp] = attend(query, key, value, {bias, causal ? kFromTopLeft : 0}, draw, scale);
  Tensor sums = with_logsumexp ? padded(logsumexp.to(at::kFloat)) : at::empty({query.size(0), query.size(1), 0},
                                                                              query.options().dtype(at::kFloat));
  return {by_rows(result), sums, draw.seed, draw.offset};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient_backward(
    const Tensor& gradient, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias,
    const Tensor&, const Tensor& logsumexp, const Tensor& seed, const Tensor& offset, double dropout,
    std::array<bool, 4> wanted, bool causal, Scale scale) {
  if (!gradient.defined()) return {};
  auto all = backward(gradient, query, key, value, logsumexp.narrow(-1, 0, query.size(2)),
                      {bias, causal ? kFromTopLeft : 0}, {dropout, seed, offset}, scale);
  bool of_bias = wanted[3] && bias.defined();
  Tensor summed = of_bias ? at::sum_to(all.bias, bias.sizes()).to(bias.scalar_type()) : Tensor();
  return {by_rows(all.query), by_rows(all.key), by_rows(all.value), summed};
}

auto cudnn(const Tensor& query, const Tensor& key, const Tensor& value, const Optional& bias, bool, double dropout,
           bool causal, bool, Scale scale) {
  Draw draw = drawn(dropout, query.device());
  auto [result, logsumexp] = attend(query, key, value, {bias, causal ? kFromTopLeft : 0}, draw, scale);
  return std::make_tuple(by_rows(result), logsumexp.to(at::kFloat).unsqueeze(-1), Tensor(), Tensor(),
                         c10::SymInt(query.size(2)), c10::SymInt(key.size(2)), draw.seed, draw.offset, Tensor());
}

std::tuple<Tensor, Tensor, Tensor> cudnn_backward(const Tensor& gradient, const Tensor& query, const Tensor& key,
                                                  const Tensor& value, const Tensor&, const Tensor& logsumexp,
                                                  const Tensor& seed, const Tensor& offset, const Tensor& bias,
                                                  const Tensor&, const Tensor&, c10::SymInt, c10::SymInt,
                                                  double dropout, bool causal, Scale scale) {
  auto all = backward(gradient, query, key, value, logsumexp.squeeze(-1), {bias, causal ? kFromTopLeft : 0},
                      {dropout, seed, offset}, scale);
  return {all.query, all.key, all.value};
}

}  // namespace

void install_fused_attention() {
  if (settings().type != c10::DeviceType::CUDA) return;
  static torch::Library library(torch::Library::IMPL, "aten", backend_key(), __FILE__, __LINE__);
  library.impl("_fill_mem_eff_dropout_mask_", &fill_drawn);
  library.impl("_scaled_dot_product_flash_attention", &flash);
  library.impl("_scaled_dot_product_flash_attention_backward", &flash_backward);
  library.impl("_scaled_dot_product_efficient_attention", &efficient);
  library.impl("_scaled_dot_product_efficient_attention_backward", &efficient_backward);
  library.impl("_scaled_dot_product_cudnn_attention", &cudnn);
  library.impl("_scaled_dot_product_cudnn_attention_backward", &cudnn_backward);
}

}  // namespace software
