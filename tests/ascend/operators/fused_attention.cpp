// The fused attention operators, and the mask of their dropout.
#include <ATen/CPUGeneratorImpl.h>

#include "operators/attention.h"

using namespace soft_cann;

namespace {

struct Inputs {
  aclTensor query, key, value;
};

struct Statistics {
  aclTensor maximum, sum, out;
};

struct Gradients {
  aclTensor query, key, value, bias;
};

void compute(const Inputs &inputs, const AttentionOptions &options, const Statistics &results) {
  Attention attention = attend(&inputs.query, &inputs.key, &inputs.value, options);
  put(&results.out, from_heads(at::matmul(attention.weights(), attention.value), options.layout));
  put(&results.maximum, statistic_from_heads(attention.maximum, options.layout).expand_as(results.maximum.value));
  put(&results.sum, statistic_from_heads(attention.sum, options.layout).expand_as(results.sum.value));
}

// The softmax is what the forward call said it is, of which these keys may be a part only.
void differentiate(const Inputs &inputs, TensorArgument gradient, const AttentionOptions &options,
                   const Statistics &forward, const Gradients &results) {
  Attention attention = attend(&inputs.query, &inputs.key, &inputs.value, options);
  attention.renormalize(statistic_to_heads(forward.maximum.value, options.layout),
                        statistic_to_heads(forward.sum.value, options.layout));
  Tensor g = to_heads(as_float(gradient), options.layout, options.heads), p = attention.probabilities;
  Tensor out = to_heads(as_float(&forward.out), options.layout, options.heads);
  Tensor dp = at::matmul(g, attention.value.transpose(-1, -2));
  if (attention.kept.defined()) dp = dp * attention.kept;
  Tensor ds = p * (dp - (g * out).sum(-1, true));
  Tensor dk = at::matmul(ds.transpose(-1, -2), attention.query) * options.scale;
  Tensor dv = at::matmul(attention.weights().transpose(-1, -2), g);
  put(&results.query, from_heads(at::matmul(ds, attention.key) * options.scale, options.layout));
  put(&results.key, from_heads(attention.fold_groups(dk), options.layout));
  put(&results.value, from_heads(attention.fold_groups(dv), options.layout));
  if (has_elements(&results.bias) && has_elements(options.bias))
    put(&results.bias, at::sum_to(ds, results.bias.value.sizes()));
}

// Calls `compute` with the options of one sequence after the other, and functions that cut out its rows.
template <typename Compute>
void by_sequence(const AttentionOptions &options, IntsArgument query_ends, IntsArgument key_ends, Compute compute) {
  TORCH_CHECK(options.layout == "TND" && !has_elements(options.bias) && !has_elements(options.dropout_bits),
              "packed attention is implemented without bias and dropout");
  int64_t query_start = 0, key_start = 0;
  for (size_t i = 0; i < query_ends->values.size(); i++) {
    int64_t query_end = query_ends->values[i], key_end = key_ends->values[i];
    auto rows = [](TensorArgument all, int64_t start, int64_t end) {
      return aclTensor{all->value.slice(0, start, end).unsqueeze(0)};
    };
    compute(options, [=](TensorArgument all) { return rows(all, query_start, query_end); },
            [=](TensorArgument all) { return rows(all, key_start, key_end); });
    query_start = query_end;
    key_start = key_end;
  }
}

}  // namespace

OPERATOR(aclnnFlashAttentionScore,
         (TensorArgument query, TensorArgument key, TensorArgument value, TensorArgument bias,
          TensorArgument dropout_bits, TensorArgument, TensorArgument mask, IntsArgument, double scale,
          double keep_probability, int64_t tokens_before, int64_t tokens_after, int64_t heads, char *layout_text,
          int64_t, int64_t sparse_mode, TensorArgument maximum, TensorArgument sum, TensorArgument,
          TensorArgument out),
         {
           compute({*query, *key, *value},
                   {bias, dropout_bits, mask, scale, keep_probability, tokens_before, tokens_after, heads, layout,
                    sparse_mode},
                   {*maximum, *sum, *out});
         })

OPERATOR(aclnnFlashAttentionScoreGrad,
         (TensorArgument query, TensorArgument key, TensorArgument value, TensorArgument gradient,
          TensorArgument bias, TensorArgument dropout_bits, TensorArgument, TensorArgument mask,
          TensorArgument maximum, TensorArgument sum, TensorArgument, TensorArgument out, IntsArgument,
          double scale, double keep_probability, int64_t tokens_before, int64_t tokens_after, int64_t heads,
          char *layout_text, int64_t, int64_t sparse_mode, TensorArgument query_gradient,
          TensorArgument key_gradient, TensorArgument value_gradient, TensorArgument bias_gradient),
         {
           differentiate({*query, *key, *value}, gradient,
                         {bias, dropout_bits, mask, scale, keep_probability, tokens_before, tokens_after, heads,
                          layout, sparse_mode},
                         {*maximum, *sum, *out},
                         {*query_gradient, *key_gradient, *value_gradient,
                          present(bias_gradient) ? *bias_gradient : aclTensor{}});
         })

OPERATOR(aclnnFlashAttentionVarLenScore,
         (TensorArgument query, TensorArgument key, TensorArgument value, TensorArgument bias,
          TensorArgument dropout_bits, TensorArgument, TensorArgument mask, IntsArgument, IntsArgument query_ends,
          IntsArgument key_ends, double scale, double keep_probability, int64_t tokens_before,
          int64_t tokens_after, int64_t heads, char *layout_text, int64_t, int64_t sparse_mode,
          TensorArgument maximum, TensorArgument sum, TensorArgument, TensorArgument out),
         {
           by_sequence({bias, dropout_bits, mask, scale, keep_probability, tokens_before, tokens_after, heads,
                        layout, sparse_mode},
                       query_ends, key_ends, [&](const AttentionOptions &options, auto queries, auto keys) {
                         compute({queries(query), keys(key), keys(value)}, options,
                                 {queries(maximum), queries(sum), queries(out)});
                       });
         })

OPERATOR(aclnnFlashAttentionUnpaddingScoreGrad,
         (TensorArgument query, TensorArgument key, TensorArgument value, TensorArgument gradient,
          TensorArgument bias, TensorArgument dropout_bits, TensorArgument, TensorArgument mask,
          TensorArgument maximum, TensorArgument sum, TensorArgument, TensorArgument out, IntsArgument,
          IntsArgument query_ends, IntsArgument key_ends, double scale, double keep_probability,
          int64_t tokens_before, int64_t tokens_after, int64_t heads, char *layout_text, int64_t,
          int64_t sparse_mode, TensorArgument query_gradient, TensorArgument key_gradient,
          TensorArgument value_gradient, TensorArgument),
         {
           by_sequence({bias, dropout_bits, mask, scale, keep_probability, tokens_before, tokens_after, heads,
                        layout, sparse_mode},
                       query_ends, key_ends, [&](const AttentionOptions &options, auto queries, auto keys) {
                         aclTensor rows = queries(gradient);
                         differentiate({queries(query), keys(key), keys(value)}, &rows, options,
                                       {queries(maximum), queries(sum), queries(out)},
                                       {queries(query_gradient), keys(key_gradient), keys(value_gradient), {}});
                       });
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
