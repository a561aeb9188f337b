// The fused kernels of attention for (batch, heads, rows, width), between which torch chooses.
#include "operators/fused_attention.h"
#include "operators/halves.h"
#include "operators/kernels.h"
#include "operators/operators.h"

#include <ATen/Context.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>

namespace software {
namespace {

using at::Tensor;
using Optional = std::optional<Tensor>;

// The kernels keep (batch, rows, heads, width) in memory and give the transposed view, with the strides of contiguous
// ones where a size is 1.
Tensor by_rows(const Tensor& result) {
  int64_t heads = result.size(1), rows = result.size(2), width = result.size(3);
  std::array<int64_t, 4> wanted{rows * heads * width, width, heads * width, 1};
  bool fits = result.numel() > 0;
  for (int64_t i = 0; i < 4; i++) fits = fits && (result.size(i) == 1 || result.stride(i) == wanted[size_t(i)]);
  if (!fits) {
    Tensor own = result.transpose(1, 2).contiguous();
    return own.flatten().view(own.sizes()).transpose(1, 2);
  }
  result.unsafeGetTensorImpl()->set_sizes_and_strides(result.sizes(), wanted);
  return result;
}

// FlashAttention's and cuDNN's give a result the layout of the queries, and a gradient that of what it is of.
Tensor laid_out_as(const Tensor& other, const Tensor& result) {
  return result.strides() == other.strides() ? result : at::empty_like(other).copy_(result);
}

// cuDNN's result has the queries' order of dimensions, though not always their width.
Tensor as_queries(const Tensor& query, const Tensor& result) {
  if (result.sizes() == query.sizes()) return laid_out_as(query, result);
  return query.is_contiguous() ? result.contiguous() : by_rows(result);
}

// A macro, as each kernel warns once. What is warned of does not happen here.
#define WARN_OF_ORDER(kernel)                                                                                     \
  if (at::globalContext().deterministicAlgorithms() && at::globalContext().deterministicAlgorithmsWarnOnly())    \
  TORCH_WARN_ONCE(kernel " defaults to a non-deterministic algorithm. To explicitly enable determinism call "    \
                         "torch.use_deterministic_algorithms(True, warn_only=False).")

Tensor no_mask(const Tensor& query) { return at::empty({0}, query.options()); }

// FlashAttention's kernel fills whole tiles.
Tensor debug_mask(const Tensor& query, const Tensor& key, const Mask& mask, const Draw& draw, Scale scale) {
  auto padding = [](int64_t length) { return (128 - length % 128) % 128; };
  return at::constant_pad_nd(marked_weights(query, key, mask, draw, scale),
                             {0, padding(key.size(2)), 0, padding(query.size(2))});
}

Tensor sums_of(const Tensor& logsumexp) { return logsumexp.to(at::kFloat).contiguous(); }

struct Attention {
  // Whether torch's kernel for the CPU takes it, which needs no memory for the weights.
  bool fits_host() const {
    if (causal && given(bias)) return false;
    auto width = query.size(3);
    auto contiguous = [](const Tensor& each) { return each.size(3) == 1 || each.stride(3) == 1; };
    bool plain = causal != kFromBottomRight && draw.probability == 0 && query.scalar_type() != at::kDouble &&
                 width > 0 && width == key.size(3) && width == value.size(3) && query.numel() > 0 && key.numel() > 0;
    bool biased = given(bias);
    return plain && contiguous(query) && contiguous(key) && contiguous(value) &&
           (!biased || ((bias->dim() == 2 || bias->dim() == 4) && contiguous(*bias)));
  }
  Optional host_bias() const { return given(bias) ? bias : std::nullopt; }
  Mask mask() const { return {bias, causal}; }

  std::pair<Tensor, Tensor> forward() const {
    if (!fits_host()) return attend(query, key, value, mask(), draw, scale);
    auto [result, logsumexp] =
        at::_scaled_dot_product_flash_attention_for_cpu(query, key, value, 0, causal != 0, host_bias(), scale);
    return {result, logsumexp};
  }
  Gradients backward(const Tensor& gradient, const Tensor& result, const Tensor& logsumexp,
                     bool of_bias = false) const {
    if (of_bias || !fits_host() || key.size(1) != query.size(1))
      return attend_backward(gradient, query, key, value, logsumexp, mask(), draw, scale);
    bool is_wide = is_slow_half(query);
    auto widened = [is_wide](const Tensor& each) { return is_wide ? to_single(each) : each; };
    auto [of_query, of_key, of_value] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        widened(gradient), widened(query), widened(key), widened(value), widened(result), logsumexp, 0, causal != 0,
        host_bias() ? Optional(widened(*bias)) : std::nullopt, scale);
    if (!is_wide) return {of_query, of_key, of_value, {}};
    return {to_half(of_query), to_half(of_key), to_half(of_value), {}};
  }

  const Tensor &query, &key, &value;
  Optional bias;
  int64_t causal;
  Draw draw;
  Scale scale;
};

// FlashAttention's diagonal ends at the last query and key; cuDNN's and CUTLASS's begin at the first.
int64_t diagonal_of_flash(bool causal, const Tensor& query, const Tensor& key) {
  if (!causal) return 0;
  return query.size(2) == key.size(2) ? kFromTopLeft : kFromBottomRight;
}

auto flash(const Tensor& query, const Tensor& key, const Tensor& value, double dropout, bool causal, bool debug,
           Scale scale) {
  refuse_unless_half(query);
  TORCH_CHECK(query.size(3) % 8 == 0, "head_size must be a multiple of 8, this is ensured by padding!");
  TORCH_CHECK(dropout < 1, "Expected p_dropout < 1.f to be true, but got false.");
  Attention all{query, key, value, {}, diagonal_of_flash(causal, query, key), drawn(dropout, query.device()), scale};
  auto [result, logsumexp] = all.forward();
  Tensor shown = debug && dropout > 0 ? debug_mask(query, key, all.mask(), all.draw, scale) : no_mask(query);
  Tensor state = flash_state(all.draw, query.device());
  return std::make_tuple(laid_out_as(query, result), sums_of(logsumexp), Tensor(), Tensor(),
                         c10::SymInt(query.size(2)), c10::SymInt(key.size(2)), state, at::empty({}, state.options()),
                         shown);
}

std::tuple<Tensor, Tensor, Tensor> flash_backward(const Tensor& gradient, const Tensor& query, const Tensor& key,
                                                  const Tensor& value, const Tensor& result, const Tensor& logsumexp,
                                                  const Tensor&, const Tensor&, c10::SymInt, c10::SymInt,
                                                  double dropout, bool causal, const Tensor& state, const Tensor&,
                                                  Scale scale) {
  WARN_OF_ORDER("Flash Attention");
  Attention all{query, key, value, {}, diagonal_of_flash(causal, query, key), drawn_by(dropout, state), scale};
  auto of = all.backward(gradient, result, logsumexp);
  return {laid_out_as(query, of.query), laid_out_as(key, of.key), laid_out_as(value, of.value)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient(const Tensor& query, const Tensor& key, const Tensor& value,
                                                     const Optional& bias, bool with_logsumexp, double dropout,
                                                     bool causal, Scale scale) {
  TORCH_CHECK(key.size(2) == value.size(2), "Expected key.size(1) == value.size(1) to be true, but got false.");
  TORCH_CHECK(!given(bias) || bias->scalar_type() == query.scalar_type(),
              "invalid dtype for bias - should match query's dtype");
  Attention all{query, key, value, bias, causal, drawn(dropout, query.device()), scale};
  auto [result, logsumexp] = all.forward();
  Tensor sums = with_logsumexp ? padded_rows(sums_of(logsumexp), query.size(2))
                               : at::empty({query.size(0), query.size(1), 0}, query.options().dtype(at::kFloat));
  return {by_rows(result), sums, all.draw.seed, all.draw.offset};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient_backward(
    const Tensor& gradient, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias,
    const Tensor& result, const Tensor& logsumexp, const Tensor& seed, const Tensor& offset, double dropout,
    std::array<bool, 4> wanted, bool causal, Scale scale) {
  if (!gradient.defined()) return {};
  WARN_OF_ORDER("Memory Efficient attention");
  bool of_bias = wanted[3] && bias.defined();
  Attention all{query, key, value, bias, causal, {dropout, seed, offset}, scale};
  auto of = all.backward(gradient, result, logsumexp.narrow(-1, 0, query.size(2)), of_bias);
  Tensor summed = of_bias ? bias_gradient(of.bias, bias) : Tensor();
  return {by_rows(of.query), by_rows(of.key), by_rows(of.value), summed};
}

Optional for_each_head(const Optional& bias, const Tensor& query, const Tensor& key) {
  if (!bias || !bias->defined()) return bias;
  return bias->expand({query.size(0), query.size(1), query.size(2), key.size(2)});
}

auto cudnn(const Tensor& query, const Tensor& key, const Tensor& value, const Optional& bias, bool, double dropout,
           bool causal, bool, Scale scale) {
  TORCH_CHECK(dropout != 1, "cuDNN Frontend error: Dropout probability cannot be 1 as corresponding scale wont be ",
              "well formed.");
  TORCH_CHECK(dropout >= 0, "cuDNN Frontend error: the dropout probability is negative.");
  Attention all{query, key, value, for_each_head(bias, query, key), causal, drawn(dropout, query.device()), scale};
  auto [result, logsumexp] = all.forward();
  return std::make_tuple(as_queries(query, result), sums_of(logsumexp).unsqueeze(-1), Tensor(), Tensor(),
                         c10::SymInt(query.size(2)), c10::SymInt(key.size(2)), all.draw.seed, all.draw.offset,
                         Tensor());
}

std::tuple<Tensor, Tensor, Tensor> cudnn_backward(const Tensor& gradient, const Tensor& query, const Tensor& key,
                                                  const Tensor& value, const Tensor& result, const Tensor& logsumexp,
                                                  const Tensor& seed, const Tensor& offset, const Tensor& bias,
                                                  const Tensor&, const Tensor&, c10::SymInt, c10::SymInt,
                                                  double dropout, bool causal, Scale scale) {
  WARN_OF_ORDER("cuDNN Attention");
  Attention all{query, key, value, for_each_head(bias, query, key), causal, {dropout, seed, offset}, scale};
  auto of = all.backward(gradient, result, logsumexp.squeeze(-1));
  return {laid_out_as(query, of.query), laid_out_as(key, of.key), laid_out_as(value, of.value)};
}

}  // namespace

KERNELS_OF_CUDA(scaled_dot_product, library) {
  library.impl("_scaled_dot_product_flash_attention", &flash);
  library.impl("_scaled_dot_product_flash_attention_backward", &flash_backward);
  library.impl("_scaled_dot_product_efficient_attention", &efficient);
  library.impl("_scaled_dot_product_efficient_attention_backward", &efficient_backward);
  library.impl("_scaled_dot_product_cudnn_attention", &cudnn);
  library.impl("_scaled_dot_product_cudnn_attention_backward", &cudnn_backward);
}

}  // namespace software
