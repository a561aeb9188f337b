// What cuBLASLt's functions share.
#pragma once

#include "blas.h"
#include "morph/blas_lt.h"

struct morph_cublasLtDesc {
  cublasComputeType_t compute;
  cudaDataType scale;
  cublasLtPointerMode_t pointers = CUBLASLT_POINTER_MODE_HOST;
  cublasOperation_t op_a = CUBLAS_OP_N, op_b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  void* aux = nullptr;
  int64_t bias_stride = 0, aux_leading = 0, aux_stride = 0;
  int32_t bias_type = -1, aux_type = -1;  // -1: that of D
};

namespace morph_cuda::blas {

bool is_known(cublasLtEpilogue_t epilogue);
// D, of the product of the two factors: what the epilogue makes of it, which may keep something or read what was kept.
at::Tensor finished(const morph_cublasLtDesc& desc, const at::Tensor& left, const at::Tensor& right, const at::Tensor& sum,
                    const at::Tensor& d);

}  // namespace morph_cuda::blas
