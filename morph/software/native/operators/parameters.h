// The parameters of a normalization. CUDA's kernels compute halves in single precision.
#pragma once

#include "operators/operators.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>

namespace software {

inline bool is_reduced(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16;
}

inline std::optional<at::Tensor> single(const std::optional<at::Tensor>& parameter) {
  return given(parameter) ? std::optional<at::Tensor>(parameter->to(at::kFloat)) : std::nullopt;
}

// The CPU's kernels keep means and deviations in the type of their parameters, CUDA's in single precision at least.
inline at::Tensor single_weight(const std::optional<at::Tensor>& weight, at::IntArrayRef shape, const at::Tensor& input) {
  return given(weight) ? weight->to(at::kFloat) : at::ones(shape, input.options().dtype(at::kFloat));
}

}  // namespace software
