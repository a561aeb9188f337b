// See fused_attention.h.
#include "memory/host_view.h"
#include "operators/fused_attention.h"
#include "operators/kernels.h"
#include "operators/operators.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Context.h>
#include <ATen/ops/stack.h>

namespace software {
namespace {

using at::Tensor;
using Optional = std::optional<Tensor>;

Tensor number(int64_t value) {
  Tensor made(at::detail::empty_cpu({}, at::kLong));
  *mutable_elements<int64_t>(made) = value;
  return made;
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

}  // namespace

Draw drawn(double probability, c10::Device place) {
  if (probability == 0) return {0, number(0), number(0)};
  at::Generator generator = at::globalContext().defaultGenerator(place);
  std::lock_guard<std::mutex> lock(generator.mutex());
  uint64_t offset = generator.get_offset();
  generator.set_offset(offset + 4);
  return {probability, number(int64_t(generator.current_seed())), number(int64_t(offset))};
}

// Read from the device's memory: the host does not wait.
Tensor number_of(const Tensor& numbers, int64_t place) {
  return at::scalar_tensor(elements<int64_t>(numbers)[place], at::kLong);
}

Tensor flash_state(const Draw& draw, c10::Device place) {
  return at::stack({draw.seed, draw.offset}).view(at::kUInt64).to(place);
}

Draw drawn_by(double probability, const Tensor& state) {
  Tensor numbers = state.contiguous().view(at::kLong);
  return {probability, number_of(numbers, 0), number_of(numbers, 1)};
}

void refuse_unless_half(const Tensor& query) {
  at::ScalarType type = query.scalar_type();
  TORCH_CHECK(type == at::kHalf || type == at::kBFloat16, "FlashAttention only support fp16 and bf16 data type");
}

Tensor padded_rows(const Tensor& logsumexp, int64_t rows) {
  int64_t wanted = (rows + 31) / 32 * 32;
  return at::constant_pad_nd(logsumexp, {0, wanted - logsumexp.size(-1)}, std::numeric_limits<double>::infinity());
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

Gradients attend_backward(const Tensor& gradient, const Tensor& query, const Tensor& key, const Tensor& value,
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

// Of each row's place in memory, CUDA makes a multiple of 16 (attention_backward.cu).
Tensor bias_gradient(const Tensor& of_scores, const Tensor& bias) {
  std::vector<int64_t> sizes = bias.sizes().vec();
  int64_t columns = sizes.back();
  sizes.back() = (columns + 15) / 16 * 16;
  return at::empty(sizes, bias.options()).narrow(-1, 0, columns).copy_(at::sum_to(of_scores, bias.sizes()));
}

Tensor marked_weights(const Tensor& query, const Tensor& key, const Mask& mask, const Draw& draw, Scale scale) {
  Tensor all = scores(query, heads_like(key, query), mask, scale);
  Tensor weights = weights_of(all, all.logsumexp(-1));
  return at::where(are_kept(draw, weights), weights, -weights).to(query.scalar_type());
}

KERNELS_OF_CUDA(fused_attention, library) {
  library.impl("_fill_mem_eff_dropout_mask_", &fill_drawn);
}

}  // namespace software
