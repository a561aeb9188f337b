// Attention by the definition, computed in float32.
#include "operators/attention.h"

#include <limits>

namespace soft_cann {
namespace {

constexpr int64_t kCausalFromTheLeft = 2;
constexpr int64_t kCausalFromTheRight = 3;
constexpr int64_t kBand = 4;
constexpr int64_t kQueryDim = 2;

bool heads_last(const std::string &layout) { return layout == "BSND" || layout == "TND"; }

int64_t key_heads(const Tensor &key, const std::string &layout, int64_t head_size) {
  if (layout == "BNSD") return key.size(1);
  return heads_last(layout) ? key.size(2) : key.size(2) / head_size;
}

// True where a query must not see a key.
Tensor hidden(const AttentionOptions &options, int64_t queries, int64_t keys) {
  Tensor row = at::arange(queries).unsqueeze(1), column = at::arange(keys).unsqueeze(0);
  Tensor aligned_right = row + (keys - queries);
  switch (options.sparse_mode) {
    case kCausalFromTheLeft: return column > row;
    case kCausalFromTheRight: return column > aligned_right;
    case kBand:
      return at::logical_or(column > aligned_right + options.tokens_after,
                            column < aligned_right - options.tokens_before);
    default: return options.mask->value.to(at::kBool);
  }
}

// One bit per probability, set where it is kept.
Tensor unpack_kept(const Tensor &packed, const Tensor &probabilities, double keep_probability) {
  Tensor bytes = packed.contiguous().view({-1, 1}).to(at::kInt);
  Tensor bits = at::bitwise_and(at::bitwise_right_shift(bytes, at::arange(8, at::kInt).unsqueeze(0)), 1);
  Tensor flat = bits.reshape({-1}).narrow(0, 0, probabilities.numel());
  return flat.reshape(probabilities.sizes()).to(at::kFloat) / keep_probability;
}

Tensor scores(const Attention &attention, const AttentionOptions &options) {
  Tensor result = at::matmul(attention.query, attention.key.transpose(-1, -2)) * options.scale;
  if (has_elements(options.bias)) result = result + as_float(options.bias);
  if (!has_elements(options.mask)) return result;
  Tensor hide = hidden(options, attention.query.size(kQueryDim), attention.key.size(kQueryDim));
  return result.masked_fill(hide, -std::numeric_limits<float>::infinity());
}

void softmax(Attention &attention, const Tensor &scores) {
  attention.maximum = scores.amax(-1, true);
  // A query that sees no key has a maximum of minus infinity, and all its probabilities are zero.
  Tensor exponentials = (scores - attention.maximum.clamp_min(-3e38)).exp();
  attention.sum = exponentials.sum(-1, true);
  attention.probabilities = exponentials / attention.sum.clamp_min(1e-38);
}

}  // namespace

Tensor to_heads(const Tensor &input, const std::string &layout, int64_t heads) {
  if (layout == "BNSD") return input;
  if (heads_last(layout)) return input.transpose(1, 2);
  TORCH_CHECK(layout == "BSH" || layout == "SBH", "attention layout ", layout, " is not implemented");
  Tensor batch_first = layout == "SBH" ? input.transpose(0, 1) : input;
  return batch_first.unflatten(-1, {heads, -1}).transpose(1, 2);
}

Tensor from_heads(const Tensor &input, const std::string &layout) {
  if (layout == "BNSD") return input;
  Tensor by_token = input.transpose(1, 2);
  if (heads_last(layout)) return by_token;
  return layout == "SBH" ? by_token.flatten(2).transpose(0, 1) : by_token.flatten(2);
}

Tensor statistic_from_heads(const Tensor &statistic, const std::string &layout) {
  return layout == "TND" ? statistic.transpose(1, 2) : statistic;
}

Tensor statistic_to_heads(const Tensor &statistic, const std::string &layout) {
  return statistic_from_heads(statistic, layout).narrow(-1, 0, 1);
}

Tensor Attention::fold_groups(const Tensor &gradient) const {
  return group_size > 1 ? gradient.unflatten(1, {-1, group_size}).sum(2) : gradient;
}

void Attention::renormalize(const Tensor &given_maximum, const Tensor &given_sum) {
  probabilities = probabilities * (maximum - given_maximum.clamp_min(-3e38)).exp() * sum / given_sum.clamp_min(1e-38);
}

Attention attend(TensorArgument query, TensorArgument key, TensorArgument value, const AttentionOptions &options) {
  Attention result;
  result.query = to_heads(as_float(query), options.layout, options.heads);
  int64_t shared_heads = key_heads(key->value, options.layout, result.query.size(3));
  result.group_size = options.heads / shared_heads;
  auto repeated = [&](TensorArgument tensor) {
    Tensor heads = to_heads(as_float(tensor), options.layout, shared_heads);
    return result.group_size > 1 ? heads.repeat_interleave(result.group_size, 1) : heads;
  };
  result.key = repeated(key);
  result.value = repeated(value);
  softmax(result, scores(result, options));
  if (has_elements(options.dropout_bits) && options.keep_probability < 1)
    result.kept = unpack_kept(options.dropout_bits->value, result.probabilities, options.keep_probability);
  return result;
}

}  // namespace soft_cann
