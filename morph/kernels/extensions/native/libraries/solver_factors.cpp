// cuSOLVER's factors of Cholesky and of LU, and what is solved with them.
#include "solver.h"

#include <ATen/ops/cholesky_inverse.h>
#include <ATen/ops/cholesky_solve.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_cholesky_ex.h>
#include <ATen/ops/linalg_solve_triangular.h>

namespace morph_cuda::solver {
namespace {

void factor(const at::Tensor& a, cublasFillMode_t fill, int* info) {
  auto [root, found] = at::linalg_cholesky_ex(a, is_upper(fill));
  store_triangle(root, a, fill);
  tell(info, found.item<int>());
}

void solve(const at::Tensor& root, cublasFillMode_t fill, const at::Tensor& into) {
  into.copy_(at::cholesky_solve(into, root, is_upper(fill)));
}

void invert_triangle(const at::Tensor& a, cublasFillMode_t fill, bool is_unit, int* info) {
  int64_t zero = is_unit ? 0 : lu::first_zero(a);
  tell(info, zero);
  if (zero) return;
  at::Tensor one = at::eye(a.size(0), a.options());
  store_triangle(at::linalg_solve_triangular(a, one, is_upper(fill), true, is_unit), a, fill, is_unit);
}

void invert_product(const at::Tensor& root, cublasFillMode_t fill, int* info) {
  int64_t zero = lu::first_zero(root);
  tell(info, zero);
  if (!zero) store_triangle(at::cholesky_inverse(root, is_upper(fill)), root, fill);
}

cusolverStatus_t potrf(Caller by, cublasFillMode_t fill, int64_t n, Matrix a, int* info) {
  bool is_valid = is_triangle(fill) && a.is_valid(n, n) && info;
  return answered(by, is_valid, [&] { factor(a.tensor(n, n), fill, info); });
}
cusolverStatus_t potri(Caller by, cublasFillMode_t fill, int64_t n, Matrix a, int* info) {
  bool is_valid = is_triangle(fill) && a.is_valid(n, n) && info;
  return answered(by, is_valid, [&] { invert_product(a.tensor(n, n), fill, info); });
}
cusolverStatus_t trtri(Caller by, cublasFillMode_t fill, cublasDiagType_t diagonal, int64_t n, Matrix a, int* info) {
  bool is_valid = is_triangle(fill) && a.is_valid(n, n) && info;
  return answered(by, is_valid, [&] { invert_triangle(a.tensor(n, n), fill, diagonal == CUBLAS_DIAG_UNIT, info); });
}
cusolverStatus_t potrs(Caller by, cublasFillMode_t fill, int64_t n, int64_t columns, Matrix a, Matrix b, int* info) {
  bool is_valid = is_triangle(fill) && a.is_valid(n, n) && b.is_valid(n, columns) && info;
  return answered(by, is_valid, [&] {
    solve(a.tensor(n, n), fill, b.tensor(n, columns));
    tell(info, 0);
  });
}
cusolverStatus_t getrf(Caller by, int64_t m, int64_t n, Matrix a, lu::Pivots pivots, int* info) {
  return answered(by, n >= 0 && a.is_valid(m, n) && info, [&] { lu::factor(a.tensor(m, n), pivots, info); });
}
cusolverStatus_t getrs(Caller by, cublasOperation_t op, int64_t n, int64_t columns, Matrix a, lu::Pivots pivots, Matrix b,
                       int* info) {
  bool is_valid = op >= CUBLAS_OP_N && op <= CUBLAS_OP_C && a.is_valid(n, n) && b.is_valid(n, columns) && info;
  return answered(by, is_valid, [&] {
    at::Tensor into = b.tensor(n, columns);
    into.copy_(lu::solved(a.tensor(n, n), pivots, op, into));
    tell(info, 0);
  });
}

// The batch's matrices lie where its arrays say.
template <class T>
cusolverStatus_t potrf_batch(Caller by, cublasFillMode_t fill, int64_t n, T* const a[], Matrix one, int* infos,
                             int64_t batch) {
  bool is_valid = is_triangle(fill) && one.is_valid(n, n) && a && infos && batch >= 0;
  return answered(by, is_valid, [&] {
    used(a, size_t(batch), false);
    for (int64_t i = 0; i < batch; i++) one.data = a[i], factor(one.tensor(n, n), fill, infos + i);
  });
}
template <class T>
cusolverStatus_t potrs_batch(Caller by, cublasFillMode_t fill, int64_t n, int64_t columns, T* const a[], Matrix root,
                             T* const b[], Matrix into, int* info, int64_t batch) {
  bool is_valid = is_triangle(fill) && root.is_valid(n, n) && into.is_valid(n, columns) && a && b && info && batch >= 0;
  return answered(by, is_valid && columns == 1, [&] {  // cuSOLVER solves for one column
    used(a, size_t(batch), false), used(b, size_t(batch), false);
    for (int64_t i = 0; i < batch; i++) {
      root.data = a[i], into.data = b[i];
      solve(root.tensor(n, n), fill, into.tensor(n, columns));
    }
    tell(info, 0);
  });
}

}  // namespace
}  // namespace morph_cuda::solver

using namespace morph_cuda::solver;

#define MORPH_HANDLE cusolverDnHandle_t handle
#define MORPH_EVERY(L, T)                                                                                             \
  cusolverStatus_t cusolverDn##L##potrf(MORPH_HANDLE, cublasFillMode_t fill, int n, T* a, int lda, T*, int,            \
                                        int* info) {                                                                   \
    return potrf(handle, fill, n, matrix(a, lda), info);                                                               \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##L##potri(MORPH_HANDLE, cublasFillMode_t fill, int n, T* a, int lda, T*, int,            \
                                        int* info) {                                                                   \
    return potri(handle, fill, n, matrix(a, lda), info);                                                               \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##L##potrs(MORPH_HANDLE, cublasFillMode_t fill, int n, int columns, const T* a, int lda,  \
                                        T* b, int ldb, int* info) {                                                    \
    return potrs(handle, fill, n, columns, matrix(a, lda), matrix(b, ldb), info);                                      \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##L##potrfBatched(MORPH_HANDLE, cublasFillMode_t fill, int n, T* a[], int lda,            \
                                               int* infos, int batch) {                                                \
    return potrf_batch(handle, fill, n, a, matrix(static_cast<T*>(nullptr), lda), infos, batch);                       \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##L##potrsBatched(MORPH_HANDLE, cublasFillMode_t fill, int n, int columns, T* a[],        \
                                               int lda, T* b[], int ldb, int* info, int batch) {                       \
    const T* none = nullptr;                                                                                           \
    Matrix root = matrix(none, lda), into = matrix(static_cast<T*>(nullptr), ldb);                                     \
    return potrs_batch(handle, fill, n, columns, a, root, b, into, info, batch);                                       \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##L##getrf(MORPH_HANDLE, int m, int n, T* a, int lda, T*, int* pivots, int* info) {       \
    return getrf(handle, m, n, matrix(a, lda), pivots, info);                                                          \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##L##getrs(MORPH_HANDLE, cublasOperation_t op, int n, int columns, const T* a, int lda,   \
                                        const int* pivots, T* b, int ldb, int* info) {                                 \
    return getrs(handle, op, n, columns, matrix(a, lda), pivots, matrix(b, ldb), info);                                \
  }
#define MORPH_WORK void*, size_t, void*, size_t, int* info

extern "C" {
MORPH_EVERY(S, float)
MORPH_EVERY(D, double)
MORPH_EVERY(C, cuComplex)
MORPH_EVERY(Z, cuDoubleComplex)

cusolverStatus_t cusolverDnXpotrf(MORPH_HANDLE, cusolverDnParams_t, cublasFillMode_t fill, int64_t n, cudaDataType type,
                                  void* a, int64_t lda, cudaDataType compute, MORPH_WORK) {
  return potrf({handle, type, {compute}}, fill, n, matrix(type, a, lda), info);
}
cusolverStatus_t cusolverDnXpotrs(MORPH_HANDLE, cusolverDnParams_t, cublasFillMode_t fill, int64_t n, int64_t columns,
                                  cudaDataType type, const void* a, int64_t lda, cudaDataType type_b, void* b,
                                  int64_t ldb, int* info) {
  return potrs({handle, type, {type_b}}, fill, n, columns, matrix(type, a, lda), matrix(type, b, ldb), info);
}
cusolverStatus_t cusolverDnXgetrf(MORPH_HANDLE, cusolverDnParams_t, int64_t m, int64_t n, cudaDataType type, void* a,
                                  int64_t lda, int64_t* pivots, cudaDataType compute, MORPH_WORK) {
  return getrf({handle, type, {compute}}, m, n, matrix(type, a, lda), pivots, info);
}
cusolverStatus_t cusolverDnXgetrs(MORPH_HANDLE, cusolverDnParams_t, cublasOperation_t op, int64_t n, int64_t columns,
                                  cudaDataType type, const void* a, int64_t lda, const int64_t* pivots,
                                  cudaDataType type_b, void* b, int64_t ldb, int* info) {
  return getrs({handle, type, {type_b}}, op, n, columns, matrix(type, a, lda), pivots, matrix(type, b, ldb), info);
}
cusolverStatus_t cusolverDnXtrtri(MORPH_HANDLE, cublasFillMode_t fill, cublasDiagType_t diagonal, int64_t n,
                                  cudaDataType type, void* a, int64_t lda, MORPH_WORK) {
  return trtri({handle, type, {}}, fill, diagonal, n, matrix(type, a, lda), info);
}
}
#undef MORPH_HANDLE
#undef MORPH_EVERY
#undef MORPH_WORK
