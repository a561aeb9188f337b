// Attention of (batch, heads, rows, width), of which the fused kernels are made. The arithmetic is done in single
// precision at least, as on a GPU; the generator's state lets the backward pass draw the same dropout.
#pragma once

#include <ATen/core/Tensor.h>

namespace software {

using Scale = std::optional<double>;

constexpr int64_t kFromTopLeft = 1, kFromBottomRight = 2;  // where the diagonal of a causal mask begins

struct Draw {  // of dropout
  double probability = 0;
  at::Tensor seed, offset;
};

struct Mask {
  std::optional<at::Tensor> bias;
  int64_t causal = 0;
  std::optional<int64_t> left, right;
};

struct Gradients {
  at::Tensor query, key, value, bias;
};

Draw drawn(double probability, c10::Device place);
at::Tensor number_of(const at::Tensor& numbers, int64_t place);

// The generator's state as FlashAttention's kernels give it since torch 2.7, and take it for the backward pass.
at::Tensor flash_state(const Draw& draw, c10::Device place);
Draw drawn_by(double probability, const at::Tensor& state);

// The result, and the logarithms of the sums of its weights' exponentials.
std::pair<at::Tensor, at::Tensor> attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                         const Mask& mask, const Draw& draw, Scale scale);

Gradients attend_backward(const at::Tensor& gradient, const at::Tensor& query, const at::Tensor& key,
                          const at::Tensor& value, const at::Tensor& logsumexp, const Mask& mask, const Draw& draw,
                          Scale scale);
at::Tensor bias_gradient(const at::Tensor& of_scores, const at::Tensor& bias);

// The weights, of which those that are dropped are negative.
at::Tensor marked_weights(const at::Tensor& query, const at::Tensor& key, const Mask& mask, const Draw& draw,
                          Scale scale);

void refuse_unless_half(const at::Tensor& query);  // as FlashAttention does

// The efficient kernel's sums, for a number of rows that is a multiple of 32.
at::Tensor padded_rows(const at::Tensor& logsumexp, int64_t rows);

}  // namespace software
