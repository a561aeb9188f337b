// What cuSOLVER's functions share.
#pragma once

#include "blas.h"
#include "lu.h"
#include "morph/solver.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <initializer_list>
#include <type_traits>

struct cusolverDnContext {
  cudaStream_t stream = nullptr;
  cusolverDeterministicMode_t mode = CUSOLVER_DETERMINISTIC_RESULTS;
};

// Jacobi's method is not what computes here, so its options change nothing.
struct syevjInfo {
  std::optional<double> residual;  // of the last matrix, unless it was a batch
};
struct gesvdjInfo {
  std::optional<double> residual;
};

namespace morph_cuda::solver {

using blas::Matrix;

inline bool is_served(c10::ScalarType type) {
  return type == c10::kFloat || type == c10::kDouble || type == c10::kComplexFloat || type == c10::kComplexDouble;
}

struct Caller {  // and which function of cuSOLVER's it calls
  using Types = std::initializer_list<cudaDataType>;
  cusolverDnHandle_t handle;
  const char* name;
  bool is_supported = true;

  Caller(cusolverDnHandle_t handle, const char* name = __builtin_FUNCTION()) : handle(handle), name(name) {}
  // The types are told when it is called: all are the matrix's, or those of its numbers' parts.
  Caller(cusolverDnHandle_t handle, cudaDataType type, Types same, Types parts = {},
         const char* name = __builtin_FUNCTION())
      : handle(handle), name(name), is_supported(is_served(blas::torchs(type))) {
    for (cudaDataType each : same) is_supported &= each == type;
    for (cudaDataType each : parts) is_supported &= blas::torchs(each) == c10::toRealValueType(blas::torchs(type));
  }
};

template <class T>
Matrix matrix(T* data, int64_t leading) {
  return {data, kTypeOf<std::remove_const_t<T>>, leading, CUBLAS_OP_N, !std::is_const_v<T>};
}
inline Matrix matrix(cudaDataType type, void* data, int64_t leading) {
  return blas::written(data, blas::torchs(type), leading);
}
inline Matrix matrix(cudaDataType type, const void* data, int64_t leading) {
  return {data, blas::torchs(type), leading};
}

// The batch's matrices lie one behind the other.
inline at::Tensor packed(const Matrix& of, int64_t batch, int64_t rows, int64_t columns) {
  return of.tensors(batch, of.leading * columns, rows, columns);
}

inline bool is_upper(cublasFillMode_t fill) { return fill == CUBLAS_FILL_MODE_UPPER; }
inline bool is_triangle(cublasFillMode_t fill) { return is_upper(fill) || fill == CUBLAS_FILL_MODE_LOWER; }
inline bool is_mode(cusolverEigMode_t mode) {
  return mode == CUSOLVER_EIG_MODE_NOVECTOR || mode == CUSOLVER_EIG_MODE_VECTOR;
}

// Writes one triangle; the other, from `beside` diagonals away on, stays as it is.
inline void store_triangle(const at::Tensor& values, const at::Tensor& into, cublasFillMode_t fill,
                           int64_t beside = 0) {
  at::Tensor all = at::ones(into.sizes(), at::kBool);
  into.copy_(at::where(is_upper(fill) ? all.triu(beside) : all.tril(-beside), values, into));
}

template <class T>
cusolverStatus_t made(T** into) {
  if (!into) return CUSOLVER_STATUS_INVALID_VALUE;
  return *into = new T, CUSOLVER_STATUS_SUCCESS;
}
template <class T>
cusolverStatus_t destroyed(T* object) {
  if (!object) return CUSOLVER_STATUS_INVALID_VALUE;
  return delete object, CUSOLVER_STATUS_SUCCESS;
}

inline void tell(int* info, int64_t value) { *used(info, 1, true) = int(value); }
inline void tell_success(int* infos, int64_t batch) { std::fill_n(used(infos, size_t(batch), true), batch, 0); }

template <class F>
cusolverStatus_t answered(Caller by, bool is_valid, F work) {
  if (!by.handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (!by.is_supported) return CUSOLVER_STATUS_NOT_SUPPORTED;
  if (!is_valid) return CUSOLVER_STATUS_INVALID_VALUE;
  Statuses statuses{CUSOLVER_STATUS_ALLOC_FAILED, CUSOLVER_STATUS_EXECUTION_FAILED};
  return cusolverStatus_t(status_of(by.name, by.handle->stream, statuses, work));
}

}  // namespace morph_cuda::solver
