// Which types cuSPARSE's products take, and the sizes and factors of these.
#pragma once

#include "sparse.h"

#include <array>

namespace morph_cuda::sparse {

struct Types {  // of the factors, the result, and the sums
  cudaDataType a, b, c, compute;
  bool operator==(const Types& other) const {
    return a == other.a && b == other.b && c == other.c && compute == other.compute;
  }
};
constexpr size_t kOfOneType = 4;  // the first of them
inline const std::array<Types, 14> kTypes{{
    {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},     {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
    {CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F},     {CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F},
    {CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUDA_R_32I},       {CUDA_R_8I, CUDA_R_8I, CUDA_R_32F, CUDA_R_32F},
    {CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F},     {CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUDA_R_32F},
    {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F},  {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F},
    {CUDA_R_32F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},     {CUDA_R_32F, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F},
    {CUDA_R_64F, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F},     {CUDA_C_32F, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F},
}};
inline cusparseStatus_t checked(const Types& types, bool is_valid, size_t among = kTypes.size()) {
  if (!is_valid) return CUSPARSE_STATUS_INVALID_VALUE;
  for (size_t i = 0; i < among; i++)
    if (kTypes[i] == types) return CUSPARSE_STATUS_SUCCESS;
  return CUSPARSE_STATUS_NOT_SUPPORTED;
}

struct Factors {
  at::Scalar alpha, beta;
  Factors(const void* alpha, const void* beta, cudaDataType type)
      : alpha(factor(alpha, type)), beta(factor(beta, type)) {}
  // What is written is not read where beta is 0: it may hold anything.
  void store(const at::Tensor& product, const at::Tensor& into) const {
    at::Tensor scaled = product * alpha;
    into.copy_(beta.equal(0) ? scaled : scaled + into.to(product.scalar_type()) * beta);
  }
};

struct MatrixSize {
  int64_t rows, columns;
  bool operator==(const MatrixSize& other) const { return rows == other.rows && columns == other.columns; }
};
inline MatrixSize under(cusparseOperation_t op, int64_t rows, int64_t columns) {
  return is_transposed(op) ? MatrixSize{columns, rows} : MatrixSize{rows, columns};
}
inline bool is_product(MatrixSize a, MatrixSize b, MatrixSize c) {
  return a.columns == b.rows && c == MatrixSize{a.rows, b.columns};
}

}  // namespace morph_cuda::sparse
