// The fused kernels of attention for (batch, heads, rows, width), between which torch chooses.
#include "device/device.h"
#include "operators/fused_attention.h"
#include "operators/operators.h"

#include <torch/library.h>

namespace software {
namespace {

using at::Tensor;
using Optional = std::optional<Tensor>;

// The kernels keep (batch, rows, heads, width) in memory and give the transposed view.
Tensor by_rows(const Tensor& result) { return result.transpose(1, 2).contiguous().transpose(1, 2); }

// FlashAttention's gives the layout of the queries.
Tensor as_queries(const Tensor& result, const Tensor& query) { return at::empty_like(query).copy_(result); }

Tensor no_mask(const Tensor& query) { return at::empty({0}, query.options()); }

// FlashAttention's kernel fills whole tiles.
Tensor debug_mask(const Tensor& query, const Tensor& key, const Mask& mask, const Draw& draw, Scale scale) {
  auto padding = [](int64_t length) { return (128 - length % 128) % 128; };
  return at::constant_pad_nd(marked_weights(query, key, mask, draw, scale),
                             {0, padding(key.size(2)), 0, padding(query.size(2))});
}

auto flash(const Tensor& query, const Tensor& key, const Tensor& value, double dropout, bool causal, bool debug,
           Scale scale) {
  Draw draw = drawn(dropout, query.device());
  Mask mask{{}, causal ? kFromTopLeft : 0};
  auto [result, logsumexp] = attend(query, key, value, mask, draw, scale);
  Tensor shown = debug && dropout > 0 ? debug_mask(query, key, mask, draw, scale) : no_mask(query);
  return std::make_tuple(as_queries(result, query), logsumexp.to(at::kFloat), Tensor(), Tensor(),
                         c10::SymInt(query.size(2)), c10::SymInt(key.size(2)), draw.seed, draw.offset, shown);
}

std::tuple<Tensor, Tensor, Tensor> flash_backward(const Tensor& gradient, const Tensor& query, const Tensor& key,
                                                  const Tensor& value, const Tensor&, const Tensor& logsumexp,
                                                  const Tensor&, const Tensor&, c10::SymInt, c10::SymInt,
                                                  double dropout, bool causal, const Tensor& seed,
                                                  const Tensor& offset, Scale scale) {
  auto all = attend_backward(gradient, query, key, value, logsumexp, {{}, causal ? kFromTopLeft : 0},
                             {dropout, seed, offset}, scale);
  return {all.query, all.key, all.value};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient(const Tensor& query, const Tensor& key, const Tensor& value,
                                                     const Optional& bias, bool with_logsumexp, double dropout,
                                                     bool causal, Scale scale) {
  Draw draw = drawn(dropout, query.device());
  auto [result, logsumexp] = attend(query, key, value, {bias, causal ? kFromTopLeft : 0}, draw, scale);
  Tensor sums = with_logsumexp ? padded_rows(logsumexp.to(at::kFloat), query.size(2))
                               : at::empty({query.size(0), query.size(1), 0}, query.options().dtype(at::kFloat));
  return {by_rows(result), sums, draw.seed, draw.offset};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient_backward(
    const Tensor& gradient, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias,
    const Tensor&, const Tensor& logsumexp, const Tensor& seed, const Tensor& offset, double dropout,
    std::array<bool, 4> wanted, bool causal, Scale scale) {
  if (!gradient.defined()) return {};
  auto all = attend_backward(gradient, query, key, value, logsumexp.narrow(-1, 0, query.size(2)),
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
  auto all = attend_backward(gradient, query, key, value, logsumexp.squeeze(-1), {bias, causal ? kFromTopLeft : 0},
                             {dropout, seed, offset}, scale);
  return {all.query, all.key, all.value};
}

}  // namespace

void install_scaled_dot_product() {
  if (settings().type != c10::DeviceType::CUDA) return;
  static torch::Library library(torch::Library::IMPL, "aten", backend_key(), __FILE__, __LINE__);
  library.impl("_scaled_dot_product_flash_attention", &flash);
  library.impl("_scaled_dot_product_flash_attention_backward", &flash_backward);
  library.impl("_scaled_dot_product_efficient_attention", &efficient);
  library.impl("_scaled_dot_product_efficient_attention_backward", &efficient_backward);
  library.impl("_scaled_dot_product_cudnn_attention", &cudnn);
  library.impl("_scaled_dot_product_cudnn_attention_backward", &cudnn_backward);
}

}  // namespace software
