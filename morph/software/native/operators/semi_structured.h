// Matrices of which two in four values are kept, as CUTLASS multiplies them: the values, and metadata that say where
// they were. In semi_structured_format.cpp.
#pragma once

#include <ATen/core/Tensor.h>

namespace software {

struct SemiStructured {
  at::Tensor values;    // half as wide as the matrix
  at::Tensor metadata;  // int16, of matrices of bytes int32, in an order of CUTLASS' own
};

// kept says which of the matrix' values are, at most two in four.
SemiStructured compressed(const at::Tensor& matrix, const at::Tensor& kept);
at::Tensor decompressed(const at::Tensor& values, const at::Tensor& metadata);

}  // namespace software
