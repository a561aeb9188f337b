// cuSOLVER's eigenvalues. Each way to compute them is LAPACK's here, in ascending order.
#include "solver.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/linalg_cholesky_ex.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/linalg_eigvalsh.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <ATen/ops/real.h>

namespace morph_cuda::solver {
namespace {

// What is asked of a symmetric or Hermitian matrix, of which one triangle is read.
struct Symmetric {
  cusolverEigMode_t mode;
  cublasFillMode_t fill;
  int64_t n;
  Matrix a;
  void* w;

  bool has_vectors() const { return mode == CUSOLVER_EIG_MODE_VECTOR; }
  bool is_valid() const { return is_mode(mode) && is_triangle(fill) && a.is_valid(n, n); }
  const char* triangle() const { return is_upper(fill) ? "U" : "L"; }
};

// Which of its values, by their numbers from 1 or from `low`, without it, to `high`.
template <class N>
struct Range {
  cusolverEigRange_t kind = CUSOLVER_EIG_RANGE_ALL;
  double low = 0, high = 0;
  N first = 0, last = 0, *count = nullptr;

  bool is_valid(int64_t n) const {
    if (kind == CUSOLVER_EIG_RANGE_I) return count && (n == 0 || (1 <= first && first <= last && last <= n));
    return kind == CUSOLVER_EIG_RANGE_ALL || (kind == CUSOLVER_EIG_RANGE_V && count && low < high);
  }
  std::pair<int64_t, int64_t> within(const at::Tensor& w) const {
    auto reached = [&](double bound) { return w.le(bound).sum().template item<int64_t>(); };
    if (kind == CUSOLVER_EIG_RANGE_V) return {reached(low), reached(high)};
    return kind == CUSOLVER_EIG_RANGE_I && w.numel() ? std::pair<int64_t, int64_t>{first - 1, last}
                                                     : std::pair<int64_t, int64_t>{0, w.numel()};
  }
  // Behind the values that are asked for are the others: NVIDIA's samples read them.
  void store(const Symmetric& of, const at::Tensor& w, const at::Tensor& vectors) const {
    auto [begin, end] = within(w);
    at::Tensor all = at::cat({w.slice(0, begin, end), w.slice(0, 0, begin), w.slice(0, end)});
    blas::store(all, of.w, w.scalar_type(), of.n, 1);
    if (of.has_vectors()) of.a.tensor(of.n, end - begin).copy_(vectors.slice(1, begin, end));
    if (count) *count = N(end - begin);
  }
};

using Spectrum = std::pair<at::Tensor, at::Tensor>;

Spectrum spectrum(const Symmetric& of, const at::Tensor& a, const char* triangle) {
  if (!of.has_vectors()) return {at::linalg_eigvalsh(a, triangle), {}};
  auto [w, vectors] = at::linalg_eigh(a, triangle);
  return {w, vectors};
}

// Of a whole matrix, with what is told of Jacobi's method.
Spectrum spectrum(const Symmetric& of, const at::Tensor& a, syevjInfo_t params) {
  if (!params) return spectrum(of, a, "L");
  auto [w, vectors] = at::linalg_eigh(a);
  params->residual = a.matmul(vectors).sub(vectors.mul(w)).norm().item<double>();
  return {w, vectors};
}

at::Tensor whole(const at::Tensor& a, cublasFillMode_t fill) {
  at::Tensor half = is_upper(fill) ? a.triu(1) : a.tril(-1);
  return half.add(half.mH()).add(at::real(a.diagonal()).diag_embed());
}

template <class N>
cusolverStatus_t syevdx(Caller by, const Symmetric& of, Range<N> range, int* info) {
  return answered(by, of.is_valid() && range.is_valid(of.n) && info, [&] {
    auto [w, vectors] = spectrum(of, of.a.tensor(of.n, of.n), of.triangle());
    range.store(of, w, vectors);
    tell(info, 0);
  });
}
cusolverStatus_t syevd(Caller by, const Symmetric& of, int* info) { return syevdx(by, of, Range<int>{}, info); }

cusolverStatus_t syevj(Caller by, const Symmetric& of, int* info, syevjInfo_t params) {
  return answered(by, of.is_valid() && info && params, [&] {
    auto [w, vectors] = spectrum(of, whole(of.a.tensor(of.n, of.n), of.fill), params);
    Range<int>{}.store(of, w, vectors);
    tell(info, 0);
  });
}

cusolverStatus_t batch_of(Caller by, const Symmetric& of, int* infos, int64_t batch) {
  return answered(by, of.is_valid() && infos && batch > 0, [&] {
    at::Tensor a = packed(of.a, batch, of.n, of.n);
    auto [w, vectors] = spectrum(of, a, of.triangle());
    memory(of.w, w.scalar_type(), {batch, of.n}, {of.n, 1}, true).copy_(w);
    if (of.has_vectors()) a.copy_(vectors);
    tell_success(infos, batch);
  });
}
cusolverStatus_t syevj_batch(Caller by, const Symmetric& of, int* infos, syevjInfo_t params, int64_t batch) {
  if (by.handle && params) params->residual.reset();
  return by.handle && !params ? CUSOLVER_STATUS_INVALID_VALUE : batch_of(by, of, infos, batch);
}

at::Tensor divided(const at::Tensor& triangle, const at::Tensor& by, bool is_upper, bool from_left) {
  return at::linalg_solve_triangular(triangle.resolve_conj(), by, is_upper, from_left);
}

// A x = w B x (1), A B x = w x (2) or B A x = w x (3), by B = L L^H, as LAPACK does it.
Spectrum generalized(cusolverEigType_t type, const Symmetric& of, const at::Tensor& l, syevjInfo_t params) {
  at::Tensor a = whole(of.a.tensor(of.n, of.n), of.fill);
  at::Tensor one = type == CUSOLVER_EIG_TYPE_1 ? divided(l.mH(), divided(l, a, false, true), true, false)
                                               : l.mH().matmul(a).matmul(l);
  auto [w, y] = spectrum(of, one, params);
  if (!of.has_vectors()) return {w, y};
  return {w, type == CUSOLVER_EIG_TYPE_3 ? l.matmul(y) : divided(l.mH(), y, true, true)};
}

template <class N>
cusolverStatus_t sygvdx(Caller by, cusolverEigType_t type, const Symmetric& of, Matrix b, Range<N> range, int* info,
                        syevjInfo_t params = nullptr) {
  bool is_type = type >= CUSOLVER_EIG_TYPE_1 && type <= CUSOLVER_EIG_TYPE_3;
  return answered(by, is_type && of.is_valid() && b.is_valid(of.n, of.n) && range.is_valid(of.n) && info, [&] {
    at::Tensor matrix = b.tensor(of.n, of.n);
    auto [root, found] = at::linalg_cholesky_ex(matrix, is_upper(of.fill));
    store_triangle(root, matrix, of.fill);
    int failed = found.item<int>();
    tell(info, failed ? of.n + failed : 0);
    if (failed) return;
    auto [w, vectors] = generalized(type, of, is_upper(of.fill) ? root.mH() : root, params);
    range.store(of, w, vectors);
  });
}
cusolverStatus_t sygvd(Caller by, cusolverEigType_t type, const Symmetric& of, Matrix b, int* info) {
  return sygvdx(by, type, of, b, Range<int>{}, info);
}
cusolverStatus_t sygvj(Caller by, cusolverEigType_t type, const Symmetric& of, Matrix b, int* info,
                       syevjInfo_t params) {
  if (by.handle && !params) return CUSOLVER_STATUS_INVALID_VALUE;
  if (by.handle && params) params->residual.reset();
  return sygvdx(by, type, of, b, Range<int>{}, info, params);
}

double real_number(cudaDataType type, const void* number) {
  return type == CUDA_R_64F ? *static_cast<const double*>(number) : *static_cast<const float*>(number);
}

}  // namespace
}  // namespace morph_cuda::solver

using namespace morph_cuda::solver;

#define MORPH_HANDLE cusolverDnHandle_t handle
#define MORPH_SYMMETRIC(T) cusolverEigMode_t mode, cublasFillMode_t fill, int n, T* a, int lda
#define MORPH_SOME(T) cusolverEigMode_t mode, cusolverEigRange_t range, cublasFillMode_t fill, int n, T* a, int lda
#define MORPH_RANGE(R) R low, R high, int first, int last, int* count
#define MORPH_OF {mode, fill, n, matrix(a, lda), w}
#define MORPH_WITHIN Range<int>{range, low, high, first, last, count}
#define MORPH_EVERY(L, T, R, SY)                                                                                      \
  cusolverStatus_t cusolverDn##L##SY##evd(MORPH_HANDLE, MORPH_SYMMETRIC(T), R* w, T*, int, int* info) {                \
    return syevd(handle, MORPH_OF, info);                                                                              \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##L##SY##evdx(MORPH_HANDLE, MORPH_SOME(T), MORPH_RANGE(R), R* w, T*, int, int* info) {    \
    return syevdx(handle, MORPH_OF, MORPH_WITHIN, info);                                                               \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##L##SY##evj(MORPH_HANDLE, MORPH_SYMMETRIC(T), R* w, T*, int, int* info,                  \
                                          syevjInfo_t params) {                                                        \
    return syevj(handle, MORPH_OF, info, params);                                                                      \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##L##SY##evjBatched(MORPH_HANDLE, MORPH_SYMMETRIC(T), R* w, T*, int, int* infos,          \
                                                 syevjInfo_t params, int batch) {                                      \
    return syevj_batch(handle, MORPH_OF, infos, params, batch);                                                        \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##L##SY##gvd(MORPH_HANDLE, cusolverEigType_t type, MORPH_SYMMETRIC(T), T* b, int ldb,     \
                                          R* w, T*, int, int* info) {                                                  \
    return sygvd(handle, type, MORPH_OF, matrix(b, ldb), info);                                                        \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##L##SY##gvdx(MORPH_HANDLE, cusolverEigType_t type, MORPH_SOME(T), T* b, int ldb,         \
                                           MORPH_RANGE(R), R* w, T*, int, int* info) {                                 \
    return sygvdx(handle, type, MORPH_OF, matrix(b, ldb), MORPH_WITHIN, info);                                         \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##L##SY##gvj(MORPH_HANDLE, cusolverEigType_t type, MORPH_SYMMETRIC(T), T* b, int ldb,     \
                                          R* w, T*, int, int* info, syevjInfo_t params) {                              \
    return sygvj(handle, type, MORPH_OF, matrix(b, ldb), info, params);                                                \
  }
#define MORPH_WIDE MORPH_HANDLE, cusolverDnParams_t, cusolverEigMode_t mode
#define MORPH_MATRIX cublasFillMode_t fill, int64_t n, cudaDataType type, void* a, int64_t lda
#define MORPH_WORK cudaDataType type_w, void* w, cudaDataType compute, void*, size_t, void*, size_t, int* info
#define MORPH_WIDE_OF {handle, type, {compute}, {type_w}}, {mode, fill, n, matrix(type, a, lda), w}

extern "C" {
MORPH_EVERY(S, float, float, sy)
MORPH_EVERY(D, double, double, sy)
MORPH_EVERY(C, cuComplex, float, he)
MORPH_EVERY(Z, cuDoubleComplex, double, he)

cusolverStatus_t cusolverDnXsyevd(MORPH_WIDE, MORPH_MATRIX, MORPH_WORK) { return syevd(MORPH_WIDE_OF, info); }
cusolverStatus_t cusolverDnXsyevdx(MORPH_WIDE, cusolverEigRange_t range, MORPH_MATRIX, void* low, void* high,
                                   int64_t first, int64_t last, int64_t* count, MORPH_WORK) {
  bool is_bounded = handle && range == CUSOLVER_EIG_RANGE_V && low && high;
  Range<int64_t> within{range, 0, 0, first, last, count};
  if (is_bounded) within.low = real_number(type_w, low), within.high = real_number(type_w, high);
  return syevdx(MORPH_WIDE_OF, within, info);
}
cusolverStatus_t cusolverDnXsyevBatched(MORPH_WIDE, MORPH_MATRIX, MORPH_WORK, int64_t batch) {
  return batch_of(MORPH_WIDE_OF, info, batch);
}
}
#undef MORPH_HANDLE
#undef MORPH_SYMMETRIC
#undef MORPH_SOME
#undef MORPH_RANGE
#undef MORPH_OF
#undef MORPH_WITHIN
#undef MORPH_EVERY
#undef MORPH_WIDE
#undef MORPH_MATRIX
#undef MORPH_WORK
#undef MORPH_WIDE_OF
