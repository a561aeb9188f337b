// cuSOLVER's factors Q and R, of which Q is kept as LAPACK's reflections.
#include "solver.h"

#include <ATen/ops/geqrf.h>
#include <ATen/ops/linalg_householder_product.h>
#include <ATen/ops/ormqr.h>

namespace morph_cuda::solver {
namespace {

cusolverStatus_t geqrf(Caller by, int64_t m, int64_t n, Matrix a, void* tau, int* info) {
  return answered(by, n >= 0 && a.is_valid(m, n) && info, [&] {
    at::Tensor into = a.tensor(m, n);
    auto [factors, scales] = at::geqrf(into);
    into.copy_(factors);
    blas::store(scales, tau, a.type, scales.numel(), 1);
    tell(info, 0);
  });
}

cusolverStatus_t orgqr(Caller by, int64_t m, int64_t n, int64_t k, Matrix a, const void* tau, int* info) {
  return answered(by, m >= n && n >= k && k >= 0 && a.is_valid(m, n) && info, [&] {
    at::Tensor into = a.tensor(m, n);
    into.copy_(at::linalg_householder_product(into, blas::vector(tau, a.type, k, 1)));
    tell(info, 0);
  });
}

cusolverStatus_t ormqr(Caller by, cublasSideMode_t side, cublasOperation_t op, int64_t m, int64_t n, int64_t k,
                       Matrix a, const void* tau, Matrix c, int* info) {
  int64_t rows = side == CUBLAS_SIDE_LEFT ? m : n;
  bool is_op = op == CUBLAS_OP_N || op == CUBLAS_OP_C || (op == CUBLAS_OP_T && !c10::isComplexType(a.type));
  bool is_valid = is_op && k >= 0 && k <= rows && a.is_valid(rows, k) && c.is_valid(m, n) && info;
  return answered(by, is_valid, [&] {
    at::Tensor into = c.tensor(m, n), scales = blas::vector(tau, a.type, k, 1);
    into.copy_(at::ormqr(a.tensor(rows, k), scales, into, side == CUBLAS_SIDE_LEFT, op != CUBLAS_OP_N));
    tell(info, 0);
  });
}

}  // namespace
}  // namespace morph_cuda::solver

using namespace morph_cuda::solver;

#define MORPH_EVERY(L, T, ORG, ORM)                                                                                   \
  cusolverStatus_t cusolverDn##L##geqrf(cusolverDnHandle_t handle, int m, int n, T* a, int lda, T* tau, T*, int,       \
                                        int* info) {                                                                   \
    return geqrf(handle, m, n, matrix(a, lda), tau, info);                                                             \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##L##ORG##qr(cusolverDnHandle_t handle, int m, int n, int k, T* a, int lda, const T* tau, \
                                          T*, int, int* info) {                                                        \
    return orgqr(handle, m, n, k, matrix(a, lda), tau, info);                                                          \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##L##ORM##qr(cusolverDnHandle_t handle, cublasSideMode_t side, cublasOperation_t op,      \
                                          int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc, T*,   \
                                          int, int* info) {                                                            \
    return ormqr(handle, side, op, m, n, k, matrix(a, lda), tau, matrix(c, ldc), info);                                \
  }

extern "C" {
MORPH_EVERY(S, float, org, orm)
MORPH_EVERY(D, double, org, orm)
MORPH_EVERY(C, cuComplex, ung, unm)
MORPH_EVERY(Z, cuDoubleComplex, ung, unm)

cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t, int64_t m, int64_t n,
                                  cudaDataType type, void* a, int64_t lda, cudaDataType type_tau, void* tau,
                                  cudaDataType compute, void*, size_t, void*, size_t, int* info) {
  return geqrf({handle, type, {type_tau, compute}}, m, n, matrix(type, a, lda), tau, info);
}
}
#undef MORPH_EVERY
