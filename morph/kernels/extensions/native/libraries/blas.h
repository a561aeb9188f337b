// What cuBLAS's functions share.
#pragma once

#include "numbers.h"

#include <optional>

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
};

namespace morph_cuda::blas {

struct Caller {  // and which function of cuBLAS's it calls
  cublasHandle_t handle;
  const char* name;
  Caller(cublasHandle_t handle, const char* name = __builtin_FUNCTION()) : handle(handle), name(name) {}
};

// A matrix in a program's memory: column-major, its columns `leading` numbers apart.
struct Matrix {
  const void* data;
  c10::ScalarType type;
  int64_t leading;
  cublasOperation_t op = CUBLAS_OP_N;
  bool is_written = false;

  bool is_transposed() const { return op == CUBLAS_OP_T || op == CUBLAS_OP_C; }
  bool is_valid(int64_t rows, int64_t columns) const {  // as it is after `op`
    int64_t stored = is_transposed() ? columns : rows;
    return op >= CUBLAS_OP_N && op <= CUBLAS_OP_C && rows >= 0 && columns >= 0 && leading >= std::max<int64_t>(1, stored);
  }
  at::Tensor tensor(int64_t rows, int64_t columns) const;
  at::Tensor tensors(int64_t batch, int64_t stride, int64_t rows, int64_t columns) const;
};

inline Matrix written(const void* data, c10::ScalarType type, int64_t leading) {
  return {data, type, leading, CUBLAS_OP_N, true};
}

c10::ScalarType torchs(cudaDataType type);  // Undefined: not served
at::Tensor vector(const void* data, c10::ScalarType type, int64_t n, int64_t step);
void store(const at::Tensor& values, void* data, c10::ScalarType type, int64_t n, int64_t step);

template <class F>
cublasStatus_t answered(Caller by, bool is_valid, F work) {
  if (!by.handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!is_valid) return CUBLAS_STATUS_INVALID_VALUE;
  Statuses statuses{CUBLAS_STATUS_ALLOC_FAILED, CUBLAS_STATUS_EXECUTION_FAILED};
  return cublasStatus_t(status_of(by.name, by.handle->stream, statuses, work));
}

}  // namespace morph_cuda::blas
