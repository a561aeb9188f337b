// cuSOLVER's factors of sparse matrices, which a program keeps and solves with.
#include "morph/solver_steps.h"
#include "solver_sparse.h"

#include <any>

struct csrqrInfo {
  std::any matrix, factors;
};
struct csrqrInfoHost : csrqrInfo {};
struct csrcholInfo {
  std::any factors;
};
struct csrcholInfoHost : csrcholInfo {};
struct csrluInfoHost {
  std::any factors;
  int64_t of_lower = 0, of_upper = 0;
};

namespace morph_cuda::solver {
namespace {

// Does what needs an object that an earlier step left: it is of the type that this one asks for.
template <class Kept, class F>
cusolverStatus_t with(SparseCaller by, const std::any* kept, bool is_valid, F work) {
  const Kept* found = kept ? std::any_cast<Kept>(kept) : nullptr;
  return answered(by, is_valid && found, [&] { work(*found); });
}

cusolverStatus_t analyzed(SparseCaller by, int64_t m, int64_t n, int64_t nnz, cusparseMatDescr_t descr,
                          const int* offsets, const int* columns, std::any* factors) {
  bool is_valid = m >= n && n >= 0 && nnz >= 0 && descr && offsets && columns && factors;
  return answered(by, is_valid, [&] {
    places(m, n, nnz, int(descr->base), offsets, columns);
    factors->reset();
  });
}

template <class Factors, class T>
cusolverStatus_t solve(SparseCaller by, const std::any* kept, int64_t m, const T* b, T* x) {
  return with<Factors>(by, kept, m >= 0 && b && x, [&](const Factors& factors) {
    TORCH_CHECK(factors.is_complete(), "the matrix is singular");
    store(factors.solve(numbers_of(b, m)), x);
  });
}
template <class Factors, class R>
cusolverStatus_t zero_pivot(SparseCaller by, const std::any* kept, R tolerance, int* position) {
  return with<Factors>(by, kept, position,
                       [&](const Factors& factors) { *position = int(factors.first_small(std::max<R>(tolerance, 0))); });
}

template <class T>
cusolverStatus_t set_up(SparseCaller by, Csr<T> a, T shift, csrqrInfo* info) {
  return answered(by, a.checked(a.rows >= a.columns && info),
                  [&] { info->matrix = shifted(a.read(), numbers_of(&shift, 1)[0]); });
}
template <class T>
cusolverStatus_t factor(SparseCaller by, int64_t m, T* b, T* x, csrqrInfo* info) {
  using S = Torchs<T>;
  cusolverStatus_t status = with<Rows<S>>(by, info ? &info->matrix : nullptr, !b == !x,
                                          [&](const Rows<S>& a) { info->factors = Orthogonal<S>(a); });
  return status || !b ? status : solve<Orthogonal<S>>(by, &info->factors, m, b, x);
}

template <class T>
cusolverStatus_t factor(SparseCaller by, Csr<T> a, csrcholInfo* info) {
  return answered(by, a.checked(info), [&] { info->factors = Cholesky<Torchs<T>>(a.read()); });
}
template <class T, class R>
cusolverStatus_t diagonal(SparseCaller by, const csrcholInfo* info, R* into) {
  using Kept = Cholesky<Torchs<T>>;
  return with<Kept>(by, info ? &info->factors : nullptr, into, [&](const Kept& factors) {
    TORCH_CHECK(factors.is_complete(), "the matrix is not positive definite");
    used(into, size_t(factors.count()), true);
    for (int64_t i = 0; i < factors.count(); i++) into[i] = factors.diagonal(i);
  });
}

template <class S>
Rows<S> lower_of(const LowerUpper<S>& factors) {
  Rows<S> found{int64_t(factors.lower.size())};
  for (auto& line : factors.lower) {
    for (auto [column, value] : line) found.add(column, value);
    found.end_row();
  }
  return found;
}
template <class S>
Rows<S> upper_of(const LowerUpper<S>& factors) {
  Rows<S> found{int64_t(factors.lower.size())};
  for (int64_t i = 0; i < found.columns; i++) {
    const std::vector<S>& row = factors.upper.rows[i];
    for (size_t k = 0; k < row.size(); k++)
      if (row[k] != S(0)) found.add(i + int64_t(k), row[k]);
    found.end_row();
  }
  return found;
}
template <class T>
cusolverStatus_t factor(SparseCaller by, Csr<T> a, csrluInfoHost* info, Real<Torchs<T>> threshold) {
  return answered(by, a.checked(info), [&] {
    LowerUpper<Torchs<T>> factors(a.read(), threshold);
    info->of_lower = int64_t(lower_of(factors).at.size()), info->of_upper = int64_t(upper_of(factors).at.size());
    info->factors = std::move(factors);
  });
}

template <class T>
struct Extracted {
  const cusparseMatDescr* descr;
  T* values;
  int *offsets, *columns;

  bool is_valid() const { return descr && values && offsets && columns; }
  void write(const Rows<Torchs<T>>& matrix) const {
    int base = int(descr->base);
    store(matrix.values, values);
    for (size_t i = 0; i < matrix.at.size(); i++) columns[i] = int(matrix.at[i]) + base;
    for (size_t i = 0; i < matrix.offsets.size(); i++) offsets[i] = int(matrix.offsets[i]) + base;
  }
};
template <class T>
cusolverStatus_t extract(SparseCaller by, int* p, int* q, Extracted<T> lower, Extracted<T> upper,
                         const csrluInfoHost* info) {
  using Kept = LowerUpper<Torchs<T>>;
  bool is_valid = p && q && lower.is_valid() && upper.is_valid();
  return with<Kept>(by, info ? &info->factors : nullptr, is_valid, [&](const Kept& factors) {
    std::copy(factors.pivots.begin(), factors.pivots.end(), p);
    std::iota(q, q + factors.pivots.size(), 0);
    lower.write(lower_of(factors)), upper.write(upper_of(factors));
  });
}

}  // namespace
}  // namespace morph_cuda::solver

using namespace morph_cuda::solver;

#define MORPH_HANDLE cusolverSpHandle_t handle
#define MORPH_PLACES const cusparseMatDescr_t descr, const int *offsets, const int *columns
#define MORPH_CSR(T) const cusparseMatDescr_t descr, const T *values, const int *offsets, const int *columns
#define MORPH_MATRIX(M) {M, n, nnz, descr, values, offsets, columns}
#define MORPH_SIZES size_t *internal, size_t *workspace
#define MORPH_SIZED sized(handle, descr && offsets && columns && info, internal, workspace)
#define MORPH_KEPT (info ? &info->factors : nullptr)
#define MORPH_TORCHS(T) morph_cuda::Torchs<T>
#define MORPH_QR(L, T, R, WHERE, INFO)                                                                            \
  cusolverStatus_t cusolverSp##L##csrqrBufferInfo##WHERE(MORPH_HANDLE, int, int, int, MORPH_CSR(T), INFO info,    \
                                                         MORPH_SIZES) {                                           \
    return MORPH_SIZED;                                                                                           \
  }                                                                                                               \
  cusolverStatus_t cusolverSp##L##csrqrSetup##WHERE(MORPH_HANDLE, int m, int n, int nnz, MORPH_CSR(T), T shift,   \
                                                    INFO info) {                                                  \
    return set_up<T>(handle, MORPH_MATRIX(m), shift, info);                                                       \
  }                                                                                                               \
  cusolverStatus_t cusolverSp##L##csrqrFactor##WHERE(MORPH_HANDLE, int m, int, int, T* b, T* x, INFO info, void*) { \
    return factor<T>(handle, m, b, x, info);                                                                      \
  }                                                                                                               \
  cusolverStatus_t cusolverSp##L##csrqrZeroPivot##WHERE(MORPH_HANDLE, INFO info, R tolerance, int* position) {    \
    return zero_pivot<Orthogonal<MORPH_TORCHS(T)>>(handle, MORPH_KEPT, tolerance, position);                      \
  }                                                                                                               \
  cusolverStatus_t cusolverSp##L##csrqrSolve##WHERE(MORPH_HANDLE, int m, int, T* b, T* x, INFO info, void*) {     \
    return solve<Orthogonal<MORPH_TORCHS(T)>>(handle, MORPH_KEPT, m, b, x);                                       \
  }
#define MORPH_CHOLESKY(L, T, R, WHERE, INFO)                                                                      \
  cusolverStatus_t cusolverSp##L##csrcholBufferInfo##WHERE(MORPH_HANDLE, int, int, MORPH_CSR(T), INFO info,       \
                                                           MORPH_SIZES) {                                         \
    return MORPH_SIZED;                                                                                           \
  }                                                                                                               \
  cusolverStatus_t cusolverSp##L##csrcholFactor##WHERE(MORPH_HANDLE, int n, int nnz, MORPH_CSR(T), INFO info,     \
                                                       void*) {                                                   \
    return factor<T>(handle, MORPH_MATRIX(n), info);                                                              \
  }                                                                                                               \
  cusolverStatus_t cusolverSp##L##csrcholZeroPivot##WHERE(MORPH_HANDLE, INFO info, R tolerance, int* position) {  \
    return zero_pivot<Cholesky<MORPH_TORCHS(T)>>(handle, MORPH_KEPT, tolerance, position);                        \
  }                                                                                                               \
  cusolverStatus_t cusolverSp##L##csrcholSolve##WHERE(MORPH_HANDLE, int n, const T* b, T* x, INFO info, void*) {  \
    return solve<Cholesky<MORPH_TORCHS(T)>>(handle, MORPH_KEPT, n, b, x);                                         \
  }
#define MORPH_EVERY(L, T, R)                                                                                      \
  MORPH_QR(L, T, R, , csrqrInfo_t)                                                                                \
  MORPH_QR(L, T, R, Host, csrqrInfoHost_t)                                                                        \
  MORPH_CHOLESKY(L, T, R, , csrcholInfo_t)                                                                        \
  MORPH_CHOLESKY(L, T, R, Host, csrcholInfoHost_t)                                                                \
  cusolverStatus_t cusolverSp##L##csrcholDiag(MORPH_HANDLE, csrcholInfo_t info, R* into) {                        \
    return diagonal<T>(handle, info, into);                                                                       \
  }                                                                                                               \
  cusolverStatus_t cusolverSp##L##csrluBufferInfoHost(MORPH_HANDLE, int, int, MORPH_CSR(T), csrluInfoHost_t info, \
                                                      MORPH_SIZES) {                                              \
    return MORPH_SIZED;                                                                                           \
  }                                                                                                               \
  cusolverStatus_t cusolverSp##L##csrluFactorHost(MORPH_HANDLE, int n, int nnz, MORPH_CSR(T), csrluInfoHost_t info, \
                                                  R threshold, void*) {                                           \
    return factor<T>(handle, MORPH_MATRIX(n), info, threshold);                                                   \
  }                                                                                                               \
  cusolverStatus_t cusolverSp##L##csrluZeroPivotHost(MORPH_HANDLE, csrluInfoHost_t info, R tolerance,             \
                                                     int* position) {                                             \
    return zero_pivot<LowerUpper<MORPH_TORCHS(T)>>(handle, MORPH_KEPT, tolerance, position);                      \
  }                                                                                                               \
  cusolverStatus_t cusolverSp##L##csrluSolveHost(MORPH_HANDLE, int n, const T* b, T* x, csrluInfoHost_t info,     \
                                                 void*) {                                                         \
    return solve<LowerUpper<MORPH_TORCHS(T)>>(handle, MORPH_KEPT, n, b, x);                                       \
  }                                                                                                               \
  cusolverStatus_t cusolverSp##L##csrluExtractHost(                                                               \
      MORPH_HANDLE, int* p, int* q, const cusparseMatDescr_t descr_l, T* values_l, int* offsets_l, int* columns_l, \
      const cusparseMatDescr_t descr_u, T* values_u, int* offsets_u, int* columns_u, csrluInfoHost_t info, void*) { \
    return extract<T>(handle, p, q, {descr_l, values_l, offsets_l, columns_l},                                    \
                      {descr_u, values_u, offsets_u, columns_u}, info);                                           \
  }
#define MORPH_INFO(NAME, INFO)                                                            \
  cusolverStatus_t cusolverSpCreate##NAME(INFO* info) { return made(info); }              \
  cusolverStatus_t cusolverSpDestroy##NAME(INFO info) { return destroyed(info); }

extern "C" {
MORPH_INFO(CsrluInfoHost, csrluInfoHost_t)
MORPH_INFO(CsrqrInfo, csrqrInfo_t)
MORPH_INFO(CsrqrInfoHost, csrqrInfoHost_t)
MORPH_INFO(CsrcholInfo, csrcholInfo_t)
MORPH_INFO(CsrcholInfoHost, csrcholInfoHost_t)
cusolverStatus_t cusolverSpXcsrqrAnalysis(MORPH_HANDLE, int m, int n, int nnz, MORPH_PLACES, csrqrInfo_t info) {
  return analyzed(handle, m, n, nnz, descr, offsets, columns, MORPH_KEPT);
}
cusolverStatus_t cusolverSpXcsrqrAnalysisBatched(MORPH_HANDLE, int m, int n, int nnz, MORPH_PLACES, csrqrInfo_t info) {
  return analyzed(handle, m, n, nnz, descr, offsets, columns, MORPH_KEPT);
}
cusolverStatus_t cusolverSpXcsrqrAnalysisHost(MORPH_HANDLE, int m, int n, int nnz, MORPH_PLACES, csrqrInfoHost_t info) {
  return analyzed(handle, m, n, nnz, descr, offsets, columns, MORPH_KEPT);
}
cusolverStatus_t cusolverSpXcsrcholAnalysis(MORPH_HANDLE, int n, int nnz, MORPH_PLACES, csrcholInfo_t info) {
  return analyzed(handle, n, n, nnz, descr, offsets, columns, MORPH_KEPT);
}
cusolverStatus_t cusolverSpXcsrcholAnalysisHost(MORPH_HANDLE, int n, int nnz, MORPH_PLACES, csrcholInfoHost_t info) {
  return analyzed(handle, n, n, nnz, descr, offsets, columns, MORPH_KEPT);
}
cusolverStatus_t cusolverSpXcsrluAnalysisHost(MORPH_HANDLE, int n, int nnz, MORPH_PLACES, csrluInfoHost_t info) {
  return analyzed(handle, n, n, nnz, descr, offsets, columns, MORPH_KEPT);
}
cusolverStatus_t cusolverSpXcsrluNnzHost(MORPH_HANDLE, int* of_l, int* of_u, csrluInfoHost_t info) {
  return answered(handle, of_l && of_u && info && info->factors.has_value(),
                  [&] { *of_l = int(info->of_lower), *of_u = int(info->of_upper); });
}
MORPH_EVERY(S, float, float)
MORPH_EVERY(D, double, double)
MORPH_EVERY(C, cuComplex, float)
MORPH_EVERY(Z, cuDoubleComplex, double)
}
#undef MORPH_HANDLE
#undef MORPH_PLACES
#undef MORPH_CSR
#undef MORPH_MATRIX
#undef MORPH_SIZES
#undef MORPH_SIZED
#undef MORPH_KEPT
#undef MORPH_TORCHS
#undef MORPH_QR
#undef MORPH_CHOLESKY
#undef MORPH_EVERY
#undef MORPH_INFO
