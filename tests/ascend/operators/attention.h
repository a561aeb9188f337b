// What an attention call is given beside its tensors.
#pragma once

#include "operators/interface.h"

namespace soft_cann {

struct AttentionOptions {
  TensorArgument bias, dropout_bits, mask;
  double scale, keep_probability;
  int64_t tokens_before, tokens_after, heads;
  // BNSD, BSND, BSH or SBH: batch, heads (N), sequence, head size (D), N x D (H); TND: a batch of one sequence
  std::string layout;
  int64_t sparse_mode;
};

// Everything is float32, of layout BNSD, and keys and values are repeated for grouped queries.
struct Attention {
  Tensor query, key, value;
  Tensor probabilities;  // of the softmax, before dropout
  Tensor kept;           // 0 or 1 / keep_probability; undefined without dropout
  Tensor maximum, sum;   // of the softmax, one per query
  int64_t group_size;

  Tensor weights() const { return kept.defined() ? probabilities * kept : probabilities; }
  Tensor fold_groups(const Tensor &gradient) const;
  // Makes the probabilities those of a softmax with this maximum and sum.
  void renormalize(const Tensor &given_maximum, const Tensor &given_sum);
};

Attention attend(TensorArgument query, TensorArgument key, TensorArgument value, const AttentionOptions &options);

Tensor to_heads(const Tensor &input, const std::string &layout, int64_t heads);
Tensor from_heads(const Tensor &input, const std::string &layout);

// One number per query, from (batch, heads, sequence, 1) to the operators' layout and back.
Tensor statistic_from_heads(const Tensor &statistic, const std::string &layout);
Tensor statistic_to_heads(const Tensor &statistic, const std::string &layout);

}  // namespace soft_cann
