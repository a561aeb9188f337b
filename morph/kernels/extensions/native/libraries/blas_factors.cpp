// cuBLAS's factors and inverses of many small matrices, which lie where its arrays say.
#include "blas.h"
#include "lu.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/geqrf.h>

namespace morph_cuda::blas {
namespace {

constexpr int kMostRows = 32;  // of a matrix that matinvBatched inverts

template <class F>
void for_each(int batch, F work) {
  for (int i = 0; i < batch; i++) work(i);
}
template <class T>
T** all(T* const* matrices, int batch) { return used(const_cast<T**>(matrices), size_t(batch), false); }

template <class T>
at::Tensor matrix(T* data, int64_t rows, int64_t columns, int64_t leading) {
  using Number = std::remove_const_t<T>;
  return memory(data, kTypeOf<Number>, {rows, columns}, {1, leading}, !std::is_const_v<T>);
}
lu::Pivots pivots(const int* all, int n, int i) { return all ? lu::Pivots(all + int64_t(i) * n) : lu::Pivots((const int*)nullptr); }

template <class T>
cublasStatus_t getrf(Caller by, int n, T* const* a, int lda, int* exchanged, int* infos, int batch) {
  return answered(by, n >= 0 && lda >= std::max(1, n) && a && infos && batch >= 0, [&] {
    T** given = all(a, batch);
    for_each(batch, [&](int i) { lu::factor(matrix(given[i], n, n, lda), pivots(exchanged, n, i), infos + i); });
  });
}

template <class T>
cublasStatus_t getrs(Caller by, cublasOperation_t op, int n, int columns, const T* const* a, int lda, const int* exchanged,
                     T* const* b, int ldb, int* info, int batch) {
  bool is_valid = op >= CUBLAS_OP_N && op <= CUBLAS_OP_C && n >= 0 && columns >= 0 && lda >= std::max(1, n) &&
                  ldb >= std::max(1, n) && a && b && info && batch >= 0;
  return answered(by, is_valid, [&] {
    const T** factors = all(a, batch);
    T** given = all(b, batch);
    for_each(batch, [&](int i) {
      at::Tensor into = matrix(given[i], n, columns, ldb);
      into.copy_(lu::solved(matrix(factors[i], n, n, lda), pivots(exchanged, n, i), op, into));
    });
    *used(info, 1, true) = 0;
  });
}

// Of a matrix by its factors; it is divided by a zero as on a GPU, and told.
int invert(const at::Tensor& factors, lu::Pivots from, const at::Tensor& into) {
  into.copy_(lu::solved(factors, from, CUBLAS_OP_N, at::eye(factors.size(0), factors.options())));
  return int(lu::first_zero(factors));
}

template <class T>
cublasStatus_t getri(Caller by, int n, const T* const* a, int lda, const int* exchanged, T* const* c, int ldc, int* infos,
                     int batch) {
  bool is_valid = n >= 0 && lda >= std::max(1, n) && ldc >= std::max(1, n) && a && c && infos && batch >= 0;
  return answered(by, is_valid, [&] {
    const T** factors = all(a, batch);
    T** given = all(c, batch);
    for_each(batch, [&](int i) {
      at::Tensor into = matrix(given[i], n, n, ldc);
      *used(infos + i, 1, true) = invert(matrix(factors[i], n, n, lda), pivots(exchanged, n, i), into);
    });
  });
}

template <class T>
cublasStatus_t matinv(Caller by, int n, const T* const* a, int lda, T* const* c, int ldc, int* infos, int batch) {
  bool is_valid = n >= 0 && lda >= std::max(1, n) && ldc >= std::max(1, n) && a && c && infos && batch >= 0;
  return answered(by, is_valid && n <= kMostRows, [&] {
    const T** from = all(a, batch);
    T** given = all(c, batch);
    for_each(batch, [&](int i) {
      at::Tensor factors = matrix(from[i], n, n, lda).clone(), exchanged = at::empty({n}, at::kInt);
      int* own = exchanged.mutable_data_ptr<int>();
      lu::factor(factors, own, infos + i);
      *used(infos + i, 1, true) = invert(factors, own, matrix(given[i], n, n, ldc));
    });
  });
}

template <class T>
cublasStatus_t geqrf(Caller by, int m, int n, T* const* a, int lda, T* const* scales, int* info, int batch) {
  bool is_valid = m >= 0 && n >= 0 && lda >= std::max(1, m) && a && scales && info && batch >= 0;
  return answered(by, is_valid, [&] {
    T **given = all(a, batch), **into = all(scales, batch);
    for_each(batch, [&](int i) {
      at::Tensor held = matrix(given[i], m, n, lda);
      auto [factors, found] = at::geqrf(held);
      held.copy_(factors);
      store(found, into[i], kTypeOf<T>, found.numel(), 1);
    });
    *used(info, 1, true) = 0;
  });
}

}  // namespace
}  // namespace morph_cuda::blas

using namespace morph_cuda::blas;

extern "C" {
#define MORPH_BATCHES(L, T)                                                                                             \
  cublasStatus_t cublas##L##getrfBatched(cublasHandle_t handle, int n, T* const a[], int lda, int* pivots, int* infos,  \
                                         int batch) {                                                                   \
    return getrf(handle, n, a, lda, pivots, infos, batch);                                                              \
  }                                                                                                                     \
  cublasStatus_t cublas##L##getrsBatched(cublasHandle_t handle, cublasOperation_t op, int n, int columns,               \
                                         const T* const a[], int lda, const int* pivots, T* const b[], int ldb,         \
                                         int* info, int batch) {                                                        \
    return getrs(handle, op, n, columns, a, lda, pivots, b, ldb, info, batch);                                          \
  }                                                                                                                     \
  cublasStatus_t cublas##L##getriBatched(cublasHandle_t handle, int n, const T* const a[], int lda, const int* pivots,  \
                                         T* const c[], int ldc, int* infos, int batch) {                                \
    return getri(handle, n, a, lda, pivots, c, ldc, infos, batch);                                                      \
  }                                                                                                                     \
  cublasStatus_t cublas##L##matinvBatched(cublasHandle_t handle, int n, const T* const a[], int lda, T* const c[],      \
                                          int ldc, int* infos, int batch) {                                             \
    return matinv(handle, n, a, lda, c, ldc, infos, batch);                                                             \
  }                                                                                                                     \
  cublasStatus_t cublas##L##geqrfBatched(cublasHandle_t handle, int m, int n, T* const a[], int lda, T* const scales[], \
                                         int* info, int batch) {                                                        \
    return geqrf(handle, m, n, a, lda, scales, info, batch);                                                            \
  }
MORPH_BATCHES(S, float)
MORPH_BATCHES(D, double)
MORPH_BATCHES(C, cuComplex)
MORPH_BATCHES(Z, cuDoubleComplex)
#undef MORPH_BATCHES
}
