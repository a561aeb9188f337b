// cuBLAS's functions of vectors, and of a matrix and vectors.
#include "blas.h"

#include <ATen/ops/addmv.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/zeros.h>

namespace morph_cuda::blas {
namespace {

template <class T>
struct Vector {
  T* data;
  int64_t n, step;

  at::Tensor values() const { return vector(data, kTypeOf<std::remove_const_t<T>>, n, step); }
  void take(const at::Tensor& values) const { store(values, data, kTypeOf<T>, n, step); }
};

// Of a complex number BLAS takes the sum of its parts' sizes.
at::Tensor sizes_of(const at::Tensor& values) {
  return values.is_complex() ? at::view_as_real(values).abs().sum(-1) : values.abs();
}

template <class T>
cublasStatus_t multiply(Caller by, const Matrix& a, int64_t m, int64_t n, const T* alpha, const T* beta,
                        const T* x, int64_t incx, T* y, int64_t incy) {
  int64_t rows = a.is_transposed() ? n : m, columns = a.is_transposed() ? m : n;
  return answered(by, alpha && beta && incx && incy && a.is_valid(rows, columns), [&] {
    if (!m || !n) return;
    Vector<T> into{y, rows, incy};
    at::Tensor old = scalar<T>(beta).equal(0) ? at::zeros({rows}, kTypeOf<T>) : into.values();
    into.take(at::addmv(old, a.tensor(rows, columns), Vector<const T>{x, columns, incx}.values(), scalar<T>(beta),
                        scalar<T>(alpha)));
  });
}

template <class T>
cublasStatus_t add_product(Caller by, const Matrix& a, int64_t m, int64_t n, const T* alpha, const T* x,
                           int64_t incx, const T* y, int64_t incy, bool is_conjugate) {
  return answered(by, alpha && incx && incy && a.is_valid(m, n), [&] {
    at::Tensor row = Vector<const T>{y, n, incy}.values();
    a.tensor(m, n).add_(at::outer(Vector<const T>{x, m, incx}.values(), is_conjugate ? row.conj() : row), scalar<T>(alpha));
  });
}

template <class T>
cublasStatus_t scale_each(Caller by, cublasSideMode_t side, int64_t m, int64_t n, const Matrix& a, const T* x,
                          int64_t incx, const Matrix& into) {
  bool is_left = side == CUBLAS_SIDE_LEFT;
  return answered(by, incx && n >= 0 && a.is_valid(m, n) && into.is_valid(m, n), [&] {
    at::Tensor factors = Vector<const T>{x, is_left ? m : n, incx}.values();
    into.tensor(m, n).copy_(a.tensor(m, n).mul(is_left ? factors.unsqueeze(1) : factors));
  });
}

template <class T>
cublasStatus_t inner(Caller by, const Vector<const T>& x, const Vector<const T>& y, T* result, bool is_conjugate) {
  return answered(by, result && x.n >= 0, [&] {
    at::Tensor left = x.values();
    store(at::dot(is_conjugate ? left.conj().resolve_conj() : left, y.values()).view(1), result, kTypeOf<T>, 1, 1);
  });
}

enum class Norm { kEuclidean, kSum };

template <class T, class R>
cublasStatus_t norm(Caller by, const Vector<const T>& x, R* result, Norm which) {
  return answered(by, result != nullptr, [&] {
    if (x.n <= 0 || x.step <= 0) return void(*used(result, 1, true) = 0);
    at::Tensor values = x.values();
    at::Tensor found = which == Norm::kSum ? sizes_of(values).sum() : values.abs().to(c10::kDouble).norm();
    *used(result, 1, true) = found.item().to<R>();
  });
}

// The place of the largest or the smallest number, from one.
template <class T, class N>
cublasStatus_t place(Caller by, const Vector<const T>& x, N* result, bool is_largest) {
  return answered(by, result != nullptr, [&] {
    if (x.n <= 0 || x.step <= 0) return void(*used(result, 1, true) = 0);
    at::Tensor sizes = sizes_of(x.values());
    *used(result, 1, true) = 1 + N((is_largest ? sizes.argmax() : sizes.argmin()).item<int64_t>());
  });
}

template <class T>
cublasStatus_t add(Caller by, const T* alpha, const Vector<const T>& x, const Vector<T>& y) {
  return answered(by, alpha, [&] {
    if (x.n > 0) y.take(y.values().add(x.values(), scalar<T>(alpha)));
  });
}

template <class T>
cublasStatus_t scale(Caller by, const T* alpha, const Vector<T>& x) {
  return answered(by, alpha, [&] {
    if (x.n > 0 && x.step > 0) x.take(x.values().mul(scalar<T>(alpha)));
  });
}

template <class T>
cublasStatus_t copy(Caller by, const Vector<const T>& x, const Vector<T>& y) {
  return answered(by, true, [&] {
    if (x.n > 0) y.take(x.values());
  });
}

template <class T>
cublasStatus_t swap(Caller by, const Vector<T>& x, const Vector<T>& y) {
  return answered(by, true, [&] {
    if (x.n <= 0) return;
    at::Tensor kept = x.values().clone();
    x.take(y.values());
    y.take(kept);
  });
}

}  // namespace
}  // namespace morph_cuda::blas

using namespace morph_cuda;
namespace own = morph_cuda::blas;

#define MORPH_EVERY(L, T)                                                                                              \
  cublasStatus_t MORPH_NAMED(cublas##L##gemv)(cublasHandle_t handle, cublasOperation_t op, MORPH_INT m, MORPH_INT n,   \
      const T* alpha, const T* a, MORPH_INT lda, const T* x, MORPH_INT incx, const T* beta, T* y, MORPH_INT incy) {    \
    return own::multiply(handle, {a, kTypeOf<T>, lda, op}, m, n, alpha, beta, x, incx, y, incy);                       \
  }                                                                                                                    \
  cublasStatus_t MORPH_NAMED(cublas##L##dgmm)(cublasHandle_t handle, cublasSideMode_t side, MORPH_INT m,               \
      MORPH_INT n, const T* a, MORPH_INT lda, const T* x, MORPH_INT incx, T* c, MORPH_INT ldc) {                       \
    return own::scale_each(handle, side, m, n, {a, kTypeOf<T>, lda}, x, incx, own::written(c, kTypeOf<T>, ldc));       \
  }                                                                                                                    \
  cublasStatus_t MORPH_NAMED(cublas##L##axpy)(cublasHandle_t handle, MORPH_INT n, const T* alpha, const T* x,          \
      MORPH_INT incx, T* y, MORPH_INT incy) {                                                                          \
    return own::add<T>(handle, alpha, {x, n, incx}, {y, n, incy});                                                     \
  }                                                                                                                    \
  cublasStatus_t MORPH_NAMED(cublas##L##scal)(cublasHandle_t handle, MORPH_INT n, const T* alpha, T* x,                \
      MORPH_INT incx) {                                                                                                \
    return own::scale<T>(handle, alpha, {x, n, incx});                                                                 \
  }                                                                                                                    \
  cublasStatus_t MORPH_NAMED(cublas##L##copy)(cublasHandle_t handle, MORPH_INT n, const T* x, MORPH_INT incx, T* y,    \
      MORPH_INT incy) {                                                                                                \
    return own::copy<T>(handle, {x, n, incx}, {y, n, incy});                                                           \
  }                                                                                                                    \
  cublasStatus_t MORPH_NAMED(cublas##L##swap)(cublasHandle_t handle, MORPH_INT n, T* x, MORPH_INT incx, T* y,          \
      MORPH_INT incy) {                                                                                                \
    return own::swap<T>(handle, {x, n, incx}, {y, n, incy});                                                           \
  }
#define MORPH_GER(NAME, T, CONJUGATE)                                                                                  \
  cublasStatus_t MORPH_NAMED(NAME)(cublasHandle_t handle, MORPH_INT m, MORPH_INT n, const T* alpha, const T* x,        \
      MORPH_INT incx, const T* y, MORPH_INT incy, T* a, MORPH_INT lda) {                                               \
    return own::add_product(handle, own::written(a, kTypeOf<T>, lda), m, n, alpha, x, incx, y, incy, CONJUGATE);       \
  }
#define MORPH_DOT(NAME, T, CONJUGATE)                                                                                  \
  cublasStatus_t MORPH_NAMED(NAME)(cublasHandle_t handle, MORPH_INT n, const T* x, MORPH_INT incx, const T* y,         \
      MORPH_INT incy, T* result) {                                                                                     \
    return own::inner<T>(handle, {x, n, incx}, {y, n, incy}, result, CONJUGATE);                                       \
  }
#define MORPH_OF(NAME, T, R, WORK)                                                                                     \
  cublasStatus_t MORPH_NAMED(NAME)(cublasHandle_t handle, MORPH_INT n, const T* x, MORPH_INT incx, R* result) {        \
    return own::WORK;                                                                                                  \
  }
#define MORPH_NORM(NAME, T, R, WHICH) MORPH_OF(NAME, T, R, norm<T>(handle, {x, n, incx}, result, own::Norm::WHICH))
#define MORPH_PLACE(NAME, T, LARGEST) MORPH_OF(NAME, T, MORPH_INT, place<T>(handle, {x, n, incx}, result, LARGEST))
#define MORPH_ALL                                                                                                      \
  MORPH_EVERY(S, float)                                                                                                \
  MORPH_EVERY(D, double)                                                                                               \
  MORPH_EVERY(C, cuComplex)                                                                                            \
  MORPH_EVERY(Z, cuDoubleComplex)                                                                                      \
  MORPH_GER(cublasSger, float, false)                                                                                  \
  MORPH_GER(cublasDger, double, false)                                                                                 \
  MORPH_GER(cublasCgeru, cuComplex, false)                                                                             \
  MORPH_GER(cublasZgeru, cuDoubleComplex, false)                                                                       \
  MORPH_GER(cublasCgerc, cuComplex, true)                                                                              \
  MORPH_GER(cublasZgerc, cuDoubleComplex, true)                                                                        \
  MORPH_DOT(cublasSdot, float, false)                                                                                  \
  MORPH_DOT(cublasDdot, double, false)                                                                                 \
  MORPH_DOT(cublasCdotu, cuComplex, false)                                                                             \
  MORPH_DOT(cublasZdotu, cuDoubleComplex, false)                                                                       \
  MORPH_DOT(cublasCdotc, cuComplex, true)                                                                              \
  MORPH_DOT(cublasZdotc, cuDoubleComplex, true)                                                                        \
  MORPH_NORM(cublasSnrm2, float, float, kEuclidean)                                                                    \
  MORPH_NORM(cublasDnrm2, double, double, kEuclidean)                                                                  \
  MORPH_NORM(cublasScnrm2, cuComplex, float, kEuclidean)                                                               \
  MORPH_NORM(cublasDznrm2, cuDoubleComplex, double, kEuclidean)                                                        \
  MORPH_NORM(cublasSasum, float, float, kSum)                                                                          \
  MORPH_NORM(cublasDasum, double, double, kSum)                                                                        \
  MORPH_NORM(cublasScasum, cuComplex, float, kSum)                                                                     \
  MORPH_NORM(cublasDzasum, cuDoubleComplex, double, kSum)                                                              \
  MORPH_PLACE(cublasIsamax, float, true)                                                                               \
  MORPH_PLACE(cublasIdamax, double, true)                                                                              \
  MORPH_PLACE(cublasIcamax, cuComplex, true)                                                                           \
  MORPH_PLACE(cublasIzamax, cuDoubleComplex, true)                                                                     \
  MORPH_PLACE(cublasIsamin, float, false)                                                                              \
  MORPH_PLACE(cublasIdamin, double, false)                                                                             \
  MORPH_PLACE(cublasIcamin, cuComplex, false)                                                                          \
  MORPH_PLACE(cublasIzamin, cuDoubleComplex, false)

extern "C" {
#define MORPH_INT int
#define MORPH_NAMED(NAME) NAME
MORPH_ALL
#undef MORPH_INT
#undef MORPH_NAMED
#define MORPH_INT int64_t
#define MORPH_NAMED(NAME) NAME##_64
MORPH_ALL
#undef MORPH_INT
#undef MORPH_NAMED
}
#undef MORPH_ALL
#undef MORPH_EVERY
#undef MORPH_GER
#undef MORPH_DOT
#undef MORPH_OF
#undef MORPH_NORM
#undef MORPH_PLACE
