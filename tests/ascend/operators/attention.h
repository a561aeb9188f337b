// What an attention call is given beside its tensors.
#pragma once

#include "operators/interface.h"

namespace soft_cann {

struct AttentionOptions {
  TensorArgument bias, dropout_bits, mask;
  double scale, keep_probability;
  int64_t tokens_before, tokens_after, heads;
  std::string layout;  // BNSD, BSND, BSH or SBH: batch, heads (N), sequence, head size (D), N x D (H)
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
};

Attention attend(TensorArgument query, TensorArgument key, TensorArgument value, const AttentionOptions &options);

Tensor to_heads(const Tensor &input, const std::string &layout, int64_t heads);
Tensor from_heads(const Tensor &input, const std::string &layout);

}  // namespace soft_cann
