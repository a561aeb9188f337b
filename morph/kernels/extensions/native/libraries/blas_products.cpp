// cuBLAS's functions of matrices.
#include "blas.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <array>

namespace morph_cuda::blas {

c10::ScalarType torchs(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F: return c10::kHalf;
    case CUDA_R_16BF: return c10::kBFloat16;
    case CUDA_R_32F: return c10::kFloat;
    case CUDA_R_64F: return c10::kDouble;
    case CUDA_C_32F: return c10::kComplexFloat;
    case CUDA_C_64F: return c10::kComplexDouble;
    case CUDA_R_8I: return c10::kChar;
    case CUDA_R_32I: return c10::kInt;
    default: return c10::ScalarType::Undefined;
  }
}

namespace {

// In which type a product is computed, and which type its factors alpha and beta have.
struct Arithmetic {
  cublasComputeType_t compute;
  c10::ScalarType factors, result, numbers;
  at::Scalar (*read)(const void*);
};
constexpr auto kComplex = c10::kComplexFloat, kWideComplex = c10::kComplexDouble;
const std::array<Arithmetic, 11> kArithmetics{{
    {CUBLAS_COMPUTE_16F, c10::kHalf, c10::kHalf, c10::kFloat, scalar<__half>},
    {CUBLAS_COMPUTE_32I, c10::kChar, c10::kInt, c10::kDouble, scalar<int>},  // whose products a double holds exactly
    {CUBLAS_COMPUTE_64F, c10::kDouble, c10::kDouble, c10::kDouble, scalar<double>},
    {CUBLAS_COMPUTE_64F, kWideComplex, kWideComplex, kWideComplex, scalar<cuDoubleComplex>},
    {CUBLAS_COMPUTE_32F, c10::kFloat, c10::kFloat, c10::kFloat, scalar<float>},
    {CUBLAS_COMPUTE_32F, c10::kHalf, c10::kHalf, c10::kFloat, scalar<float>},
    {CUBLAS_COMPUTE_32F, c10::kHalf, c10::kFloat, c10::kFloat, scalar<float>},
    {CUBLAS_COMPUTE_32F, c10::kBFloat16, c10::kBFloat16, c10::kFloat, scalar<float>},
    {CUBLAS_COMPUTE_32F, c10::kBFloat16, c10::kFloat, c10::kFloat, scalar<float>},
    {CUBLAS_COMPUTE_32F, c10::kChar, c10::kFloat, c10::kFloat, scalar<float>},
    {CUBLAS_COMPUTE_32F, kComplex, kComplex, kComplex, scalar<cuComplex>},
}};

// The faster kinds are as exact here as the plain ones.
cublasComputeType_t plain(cublasComputeType_t compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F_PEDANTIC: return CUBLAS_COMPUTE_16F;
    case CUBLAS_COMPUTE_64F_PEDANTIC: return CUBLAS_COMPUTE_64F;
    case CUBLAS_COMPUTE_32I_PEDANTIC: return CUBLAS_COMPUTE_32I;
    case CUBLAS_COMPUTE_32F_PEDANTIC: case CUBLAS_COMPUTE_32F_FAST_16F: case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32: return CUBLAS_COMPUTE_32F;
    default: return compute;
  }
}

const Arithmetic* arithmetic(cublasComputeType_t compute, c10::ScalarType a, c10::ScalarType b, c10::ScalarType c) {
  for (const Arithmetic& each : kArithmetics)
    if (each.compute == plain(compute) && each.factors == a && a == b && each.result == c) return &each;
  return nullptr;
}
const Arithmetic* arithmetic(c10::ScalarType type) {
  for (const Arithmetic& each : kArithmetics)
    if (each.factors == type && each.result == type) return &each;
  return nullptr;
}

// c = alpha a b + beta c for matrices, or for batches of them.
void multiply(const Arithmetic& how, const at::Tensor& a, const at::Tensor& b, at::Tensor c, at::Scalar alpha, at::Scalar beta) {
  auto is_zero = [](const at::Scalar& factor) { return factor.equal(0); };
  if (a.numel() == 0) {
    is_zero(beta) ? c.zero_() : c.copy_(c.to(how.numbers).mul(beta));
    return;
  }
  at::Tensor left = a.to(how.numbers), right = b.to(how.numbers), sum = c.to(how.numbers);
  if (c.dim() == 2) at::addmm_out(sum, sum, left, right, beta, alpha);
  else at::baddbmm_out(sum, sum, left, right, beta, alpha);
  if (!sum.is_same(c)) c.copy_(how.result == c10::kInt ? sum.to(c10::kLong) : sum);
}

struct Shape {
  int64_t m, n, k;
};

struct Product {
  const Arithmetic* how;
  Shape shape;
  at::Scalar alpha, beta;
  Matrix a, b, c;

  void compute() const {
    multiply(*how, a.tensor(shape.m, shape.k), b.tensor(shape.k, shape.n), c.tensor(shape.m, shape.n), alpha, beta);
  }
  void compute(int64_t batch, int64_t stride_a, int64_t stride_b, int64_t stride_c) const {
    auto [m, n, k] = shape;
    multiply(*how, a.tensors(batch, stride_a, m, k), b.tensors(batch, stride_b, k, n), c.tensors(batch, stride_c, m, n),
             alpha, beta);
  }
  bool is_valid() const {
    auto [m, n, k] = shape;
    return a.is_valid(m, k) && b.is_valid(k, n) && c.is_valid(m, n);
  }
};

// Calls `work` with a product that is valid and supported.
template <class F>
cublasStatus_t product(Caller by, const Arithmetic* how, Shape shape, const void* alpha, Matrix a, Matrix b,
                       const void* beta, Matrix c, F work, int64_t batch = 1) {
  if (by.handle && !how) return CUBLAS_STATUS_NOT_SUPPORTED;
  c.is_written = true;
  Product one{how, shape, {}, {}, a, b, c};
  return answered(by, alpha && beta && batch >= 0 && one.is_valid(), [&] {
    one.alpha = how->read(alpha), one.beta = how->read(beta);
    if (one.alpha.equal(0)) one.shape.k = 0;  // the factors are not read
    if (shape.m && shape.n && batch) work(one);
  });
}

// The batch's matrices lie where its arrays say.
template <class In, class Out>
void for_each(int64_t batch, const In* a, const In* b, const Out* c, Product& one) {
  size_t n = size_t(batch);
  used(a, n, false), used(b, n, false), used(c, n, false);
  for (size_t i = 0; i < n; i++) one.a.data = a[i], one.b.data = b[i], one.c.data = c[i], one.compute();
}

struct Triangle {
  cublasSideMode_t side;
  cublasFillMode_t fill;
  cublasDiagType_t diagonal;
  int64_t m, n;

  int64_t size() const { return side == CUBLAS_SIDE_LEFT ? m : n; }
  bool is_valid(const Matrix& a, const Matrix& b) const {
    return m >= 0 && n >= 0 && a.is_valid(size(), size()) && b.is_valid(m, n) && fill != CUBLAS_FILL_MODE_FULL;
  }
  void solve(const at::Scalar& alpha, const Matrix& a, const Matrix& b) const {
    bool is_upper = (fill == CUBLAS_FILL_MODE_UPPER) != a.is_transposed();
    at::Tensor into = b.tensor(m, n);
    if (alpha.equal(0)) return void(into.zero_());
    at::Tensor matrix = a.tensor(size(), size()).resolve_conj();
    into.copy_(at::linalg_solve_triangular(matrix, into.mul(alpha), is_upper, side == CUBLAS_SIDE_LEFT,
                                           diagonal == CUBLAS_DIAG_UNIT));
  }
};

// alpha a + beta b, of which neither is read where its factor is zero.
at::Tensor sum(const at::Scalar& alpha, const Matrix& a, const at::Scalar& beta, const Matrix& b, int64_t m, int64_t n) {
  if (beta.equal(0)) return alpha.equal(0) ? a.tensor(m, n).new_zeros({m, n}) : a.tensor(m, n).mul(alpha);
  at::Tensor scaled = b.tensor(m, n).mul(beta);
  return alpha.equal(0) ? scaled : scaled.add(a.tensor(m, n), alpha);
}

}  // namespace
}  // namespace morph_cuda::blas

using namespace morph_cuda;
using namespace morph_cuda::blas;

#define MORPH_SHAPE cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, MORPH_INT m, MORPH_INT n,   \
    MORPH_INT k
#define MORPH_GEMM(L, T)                                                                                               \
  cublasStatus_t MORPH_NAMED(cublas##L##gemm)(MORPH_SHAPE, const T* alpha, const T* a, MORPH_INT lda, const T* b,      \
      MORPH_INT ldb, const T* beta, T* c, MORPH_INT ldc) {                                                             \
    auto type = kTypeOf<T>;                                                                                            \
    return product(handle, arithmetic(type), {m, n, k}, alpha, {a, type, lda, op_a}, {b, type, ldb, op_b}, beta,       \
                   {c, type, ldc}, [](const Product& one) { one.compute(); });                                         \
  }                                                                                                                    \
  cublasStatus_t MORPH_NAMED(cublas##L##gemmStridedBatched)(MORPH_SHAPE, const T* alpha, const T* a, MORPH_INT lda,    \
      long long stride_a, const T* b, MORPH_INT ldb, long long stride_b, const T* beta, T* c, MORPH_INT ldc,           \
      long long stride_c, MORPH_INT batch) {                                                                           \
    auto type = kTypeOf<T>;                                                                                            \
    auto work = [&](const Product& one) { one.compute(batch, stride_a, stride_b, stride_c); };                         \
    return product(handle, arithmetic(type), {m, n, k}, alpha, {a, type, lda, op_a}, {b, type, ldb, op_b}, beta,       \
                   {c, type, ldc}, work, batch);                                                                       \
  }                                                                                                                    \
  cublasStatus_t MORPH_NAMED(cublas##L##gemmBatched)(MORPH_SHAPE, const T* alpha, const T* const a[], MORPH_INT lda,   \
      const T* const b[], MORPH_INT ldb, const T* beta, T* const c[], MORPH_INT ldc, MORPH_INT batch) {                \
    auto type = kTypeOf<T>;                                                                                            \
    auto work = [&](Product one) {                                                                                     \
      for_each(batch, a, b, c, one);                                                                                   \
    };                                                                                                                 \
    return product(handle, arithmetic(type), {m, n, k}, alpha, {nullptr, type, lda, op_a}, {nullptr, type, ldb,        \
        op_b},                                                                                                         \
                   beta, {nullptr, type, ldc}, work, batch);                                                           \
  }
#define MORPH_TRIANGLE                                                                                                 \
  cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op,                           \
      cublasDiagType_t diagonal,                                                                                       \
      MORPH_INT m, MORPH_INT n
#define MORPH_EVERY(L, T)                                                                                              \
  MORPH_GEMM(L, T)                                                                                                     \
  cublasStatus_t MORPH_NAMED(cublas##L##geam)(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,   \
      MORPH_INT m, MORPH_INT n, const T* alpha, const T* a, MORPH_INT lda, const T* beta, const T* b, MORPH_INT ldb,   \
      T* c, MORPH_INT ldc) {                                                                                           \
    Matrix left{a, kTypeOf<T>, lda, op_a}, right{b, kTypeOf<T>, ldb, op_b};                                            \
    Matrix into = written(c, kTypeOf<T>, ldc);                                                                         \
    bool is_valid = alpha && beta && left.is_valid(m, n) && right.is_valid(m, n) && into.is_valid(m, n);               \
    return answered(handle, is_valid, [&] {                                                                            \
      into.tensor(m, n).copy_(sum(scalar<T>(alpha), left, scalar<T>(beta), right, m, n));                              \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t MORPH_NAMED(cublas##L##trsm)(MORPH_TRIANGLE, const T* alpha, const T* a, MORPH_INT lda, T* b,         \
      MORPH_INT ldb) {                                                                                                 \
    Triangle shape{side, fill, diagonal, m, n};                                                                        \
    Matrix matrix{a, kTypeOf<T>, lda, op}, into = written(b, kTypeOf<T>, ldb);                                         \
    return answered(handle, alpha && shape.is_valid(matrix, into),                                                     \
                    [&] { shape.solve(scalar<T>(alpha), matrix, into); });                                             \
  }                                                                                                                    \
  cublasStatus_t MORPH_NAMED(cublas##L##trsmBatched)(MORPH_TRIANGLE, const T* alpha, const T* const a[],               \
      MORPH_INT lda, T* const b[], MORPH_INT ldb, MORPH_INT batch) {                                                   \
    Triangle shape{side, fill, diagonal, m, n};                                                                        \
    Matrix matrix{nullptr, kTypeOf<T>, lda, op}, into = written(nullptr, kTypeOf<T>, ldb);                             \
    return answered(handle, alpha && batch >= 0 && shape.is_valid(matrix, into), [&] {                                 \
      used(a, size_t(batch), false), used(b, size_t(batch), false);                                                    \
      for (int64_t i = 0; i < batch; i++) {                                                                            \
        matrix.data = a[i], into.data = b[i];                                                                          \
        shape.solve(scalar<T>(alpha), matrix, into);                                                                   \
      }                                                                                                                \
    });                                                                                                                \
  }
#define MORPH_ALL                                                                                                      \
  MORPH_GEMM(H, __half)                                                                                                \
  MORPH_EVERY(S, float)                                                                                                \
  MORPH_EVERY(D, double)                                                                                               \
  MORPH_EVERY(C, cuComplex)                                                                                            \
  MORPH_EVERY(Z, cuDoubleComplex)                                                                                      \
  cublasStatus_t MORPH_NAMED(cublasGemmEx)(MORPH_SHAPE, const void* alpha, const void* a, cudaDataType type_a,         \
      MORPH_INT lda, const void* b, cudaDataType type_b, MORPH_INT ldb, const void* beta, void* c,                     \
      cudaDataType type_c, MORPH_INT ldc, cublasComputeType_t compute, cublasGemmAlgo_t) {                             \
    auto of_a = torchs(type_a), of_b = torchs(type_b), of_c = torchs(type_c);                                          \
    return product(handle, arithmetic(compute, of_a, of_b, of_c), {m, n, k}, alpha, {a, of_a, lda, op_a},              \
                   {b, of_b, ldb, op_b}, beta, {c, of_c, ldc}, [](const Product& one) { one.compute(); });             \
  }                                                                                                                    \
  cublasStatus_t MORPH_NAMED(cublasGemmStridedBatchedEx)(MORPH_SHAPE, const void* alpha, const void* a,                \
      cudaDataType type_a, MORPH_INT lda, long long stride_a, const void* b, cudaDataType type_b, MORPH_INT ldb,       \
      long long stride_b, const void* beta, void* c, cudaDataType type_c, MORPH_INT ldc, long long stride_c,           \
      MORPH_INT batch, cublasComputeType_t compute, cublasGemmAlgo_t) {                                                \
    auto of_a = torchs(type_a), of_b = torchs(type_b), of_c = torchs(type_c);                                          \
    auto work = [&](const Product& one) { one.compute(batch, stride_a, stride_b, stride_c); };                         \
    return product(handle, arithmetic(compute, of_a, of_b, of_c), {m, n, k}, alpha, {a, of_a, lda, op_a},              \
                   {b, of_b, ldb, op_b}, beta, {c, of_c, ldc}, work, batch);                                           \
  }                                                                                                                    \
  cublasStatus_t MORPH_NAMED(cublasGemmBatchedEx)(MORPH_SHAPE, const void* alpha, const void* const a[],               \
      cudaDataType type_a, MORPH_INT lda, const void* const b[], cudaDataType type_b, MORPH_INT ldb,                   \
      const void* beta, void* const c[], cudaDataType type_c, MORPH_INT ldc, MORPH_INT batch,                          \
      cublasComputeType_t compute, cublasGemmAlgo_t) {                                                                 \
    auto of_a = torchs(type_a), of_b = torchs(type_b), of_c = torchs(type_c);                                          \
    auto work = [&](Product one) {                                                                                     \
      for_each(batch, a, b, c, one);                                                                                   \
    };                                                                                                                 \
    return product(handle, arithmetic(compute, of_a, of_b, of_c), {m, n, k}, alpha, {nullptr, of_a, lda, op_a},        \
                   {nullptr, of_b, ldb, op_b}, beta, {nullptr, of_c, ldc}, work, batch);                               \
  }                                                                                                                    \
  cublasStatus_t MORPH_NAMED(cublasSgemmEx)(MORPH_SHAPE, const float* alpha, const void* a, cudaDataType type_a,       \
      MORPH_INT lda, const void* b, cudaDataType type_b, MORPH_INT ldb, const float* beta, void* c,                    \
      cudaDataType type_c, MORPH_INT ldc) {                                                                            \
    return MORPH_NAMED(cublasGemmEx)(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c,      \
        type_c, ldc,                                                                                                   \
                        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);                                                      \
  }

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
#undef MORPH_SHAPE
#undef MORPH_GEMM
#undef MORPH_TRIANGLE
