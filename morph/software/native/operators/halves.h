// Halves on a processor without instructions for them, whose kernels take up to forty times as long as in float32.
#pragma once

#include <ATen/core/Tensor.h>

namespace software {

bool halves_are_slow();  // whether oneDNN has no kernels for them here

// What is computed in float32 there: CUDA's libraries sum halves so too, and round once.
inline bool is_slow_half(const at::Tensor& tensor) { return tensor.scalar_type() == at::kHalf && halves_are_slow(); }
inline at::Tensor to_single(const at::Tensor& tensor) { return tensor.defined() ? tensor.to(at::kFloat) : tensor; }
inline at::Tensor to_half(const at::Tensor& tensor) { return tensor.defined() ? tensor.to(at::kHalf) : tensor; }

}  // namespace software
