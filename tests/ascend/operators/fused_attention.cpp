// The fused attention operators, and the mask of their dropout.
#include <ATen/CPUGeneratorImpl.h>

#include "operators/attention.h"

using namespace soft_cann;

OPERATOR(aclnnFlashAttentionScore,
         (TensorArgument query, TensorArgument key, TensorArgument value, TensorArgument bias,
          TensorArgument dropout_bits, TensorArgument, TensorArgument mask, IntsArgument, double scale,
          double keep_probability, int64_t tokens_before, int64_t tokens_after, int64_t heads, char *layout_text,
          int64_t, int64_t sparse_mode, TensorArgument maximum, TensorArgument sum, TensorArgument,
          TensorArgument out),
         {
           Attention attention = attend(query, key, value,
                                        {bias, dropout_bits, mask, scale, keep_probability, tokens_before,
                                         tokens_after, heads, layout, sparse_mode});
           put(out, from_heads(at::matmul(attention.weights(), attention.value), layout));
           put(maximum, attention.maximum.expand_as(maximum->value));
           put(sum, attention.sum.expand_as(sum->value));
         })

OPERATOR(aclnnFlashAttentionScoreGrad,
         (TensorArgument query, TensorArgument key, TensorArgument value, TensorArgument gradient,
          TensorArgument bias, TensorArgument dropout_bits, TensorArgument, TensorArgument mask, TensorArgument,
          TensorArgument, TensorArgument, TensorArgument, IntsArgument, double scale, double keep_probability,
          int64_t tokens_before, int64_t tokens_after, int64_t heads, char *layout_text, int64_t,
          int64_t sparse_mode, TensorArgument query_gradient, TensorArgument key_gradient,
          TensorArgument value_gradient, TensorArgument bias_gradient),
         {
           Attention attention = attend(query, key, value,
                                        {bias, dropout_bits, mask, scale, keep_probability, tokens_before,
                                         tokens_after, heads, layout, sparse_mode});
           Tensor g = to_heads(as_float(gradient), layout, heads), p = attention.probabilities;
           Tensor dp = at::matmul(g, attention.value.transpose(-1, -2));
           if (attention.kept.defined()) dp = dp * attention.kept;
           Tensor ds = p * (dp - (dp * p).sum(-1, true));
           Tensor dk = at::matmul(ds.transpose(-1, -2), attention.query) * scale;
           Tensor dv = at::matmul(attention.weights().transpose(-1, -2), g);
           put(query_gradient, from_heads(at::matmul(ds, attention.key) * scale, layout));
           put(key_gradient, from_heads(attention.fold_groups(dk), layout));
           put(value_gradient, from_heads(attention.fold_groups(dv), layout));
           if (has_elements(bias_gradient) && has_elements(bias))
             put(bias_gradient, at::sum_to(ds, bias_gradient->value.sizes()));
         })

// One bit per element, set where it is kept.
OPERATOR(aclnnDropoutGenMaskV2,
         (IntsArgument sizes, double probability, int64_t seed, int64_t offset, aclDataType, TensorArgument out), {
           int64_t count = c10::multiply_integers(sizes->values);
           uint64_t mixed = uint64_t(seed) * 0x9E3779B97F4A7C15ull + uint64_t(offset);
           auto generator = at::make_generator<at::CPUGeneratorImpl>(mixed);
           Tensor keep = at::rand({count}, generator) >= probability;
           Tensor packed = target(out).zero_();
           auto *bytes = packed.data_ptr<uint8_t>();
           auto *kept = keep.const_data_ptr<bool>();
           for (int64_t i = 0; i < count; i++) bytes[i / 8] |= uint8_t(kept[i]) << (i % 8);
         })
