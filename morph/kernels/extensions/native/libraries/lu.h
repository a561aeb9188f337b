// Factors L and U, for cuBLAS and cuSOLVER.
#pragma once

#include "numbers.h"

namespace morph_cuda::lu {

// Where a pivot is counted from 1. Without memory nothing is exchanged.
struct Pivots {
  const void* data;
  c10::ScalarType type;

  Pivots(const int* data) : data(data), type(at::kInt) {}
  Pivots(const int64_t* data) : data(data), type(at::kLong) {}
  at::Tensor tensor(int64_t n, bool writes = false) const { return memory(data, type, {n}, {1}, writes); }
};

void factor(const at::Tensor& a, Pivots into, int* info);  // in its place; `info` is LAPACK's
at::Tensor solved(const at::Tensor& factors, Pivots from, cublasOperation_t op, const at::Tensor& b);

// LAPACK's number of the first zero in a diagonal, or 0.
int64_t first_zero(const at::Tensor& matrix);

}  // namespace morph_cuda::lu
