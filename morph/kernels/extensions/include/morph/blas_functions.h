// The functions of cuBLAS, by the letter of their type; those of sizes are there for 32 and for 64 bits.
#pragma once

#define MORPH_SHAPE cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, MORPH_INT m, MORPH_INT n,   \
    MORPH_INT k
#define MORPH_GEMM(L, T)                                                                                               \
  cublasStatus_t MORPH_NAMED(cublas##L##gemm)(MORPH_SHAPE, const T* alpha, const T* a, MORPH_INT lda, const T* b,      \
      MORPH_INT ldb, const T* beta, T* c, MORPH_INT ldc);                                                              \
  cublasStatus_t MORPH_NAMED(cublas##L##gemmStridedBatched)(MORPH_SHAPE, const T* alpha, const T* a, MORPH_INT lda,    \
      long long stride_a, const T* b, MORPH_INT ldb, long long stride_b, const T* beta, T* c, MORPH_INT ldc,           \
      long long stride_c, MORPH_INT batch);                                                                            \
  cublasStatus_t MORPH_NAMED(cublas##L##gemmBatched)(MORPH_SHAPE, const T* alpha, const T* const a[], MORPH_INT lda,   \
      const T* const b[], MORPH_INT ldb, const T* beta, T* const c[], MORPH_INT ldc, MORPH_INT batch);
#define MORPH_EVERY(L, T)                                                                                              \
  MORPH_GEMM(L, T)                                                                                                     \
  cublasStatus_t MORPH_NAMED(cublas##L##geam)(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,   \
      MORPH_INT m, MORPH_INT n, const T* alpha, const T* a, MORPH_INT lda, const T* beta, const T* b, MORPH_INT ldb,   \
      T* c, MORPH_INT ldc);                                                                                            \
  cublasStatus_t MORPH_NAMED(cublas##L##trsm)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,     \
      cublasOperation_t op, cublasDiagType_t diagonal, MORPH_INT m, MORPH_INT n, const T* alpha, const T* a,           \
      MORPH_INT lda, T* b, MORPH_INT ldb);                                                                             \
  cublasStatus_t MORPH_NAMED(cublas##L##trsmBatched)(cublasHandle_t handle, cublasSideMode_t side,                     \
      cublasFillMode_t fill, cublasOperation_t op, cublasDiagType_t diagonal, MORPH_INT m, MORPH_INT n,                \
      const T* alpha, const T* const a[], MORPH_INT lda, T* const b[], MORPH_INT ldb, MORPH_INT batch);                \
  cublasStatus_t MORPH_NAMED(cublas##L##gemv)(cublasHandle_t handle, cublasOperation_t op, MORPH_INT m, MORPH_INT n,   \
      const T* alpha, const T* a, MORPH_INT lda, const T* x, MORPH_INT incx, const T* beta, T* y, MORPH_INT incy);     \
  cublasStatus_t MORPH_NAMED(cublas##L##dgmm)(cublasHandle_t handle, cublasSideMode_t side, MORPH_INT m,               \
      MORPH_INT n, const T* a, MORPH_INT lda, const T* x, MORPH_INT incx, T* c, MORPH_INT ldc);                        \
  cublasStatus_t MORPH_NAMED(cublas##L##axpy)(cublasHandle_t handle, MORPH_INT n, const T* alpha, const T* x,          \
      MORPH_INT incx, T* y, MORPH_INT incy);                                                                           \
  cublasStatus_t MORPH_NAMED(cublas##L##scal)(cublasHandle_t handle, MORPH_INT n, const T* alpha, T* x,                \
      MORPH_INT incx);                                                                                                 \
  cublasStatus_t MORPH_NAMED(cublas##L##copy)(cublasHandle_t handle, MORPH_INT n, const T* x, MORPH_INT incx, T* y,    \
      MORPH_INT incy);                                                                                                 \
  cublasStatus_t MORPH_NAMED(cublas##L##swap)(cublasHandle_t handle, MORPH_INT n, T* x, MORPH_INT incx, T* y,          \
      MORPH_INT incy);
#define MORPH_GER(NAME, T)                                                                                             \
  cublasStatus_t MORPH_NAMED(NAME)(cublasHandle_t handle, MORPH_INT m, MORPH_INT n, const T* alpha, const T* x,        \
      MORPH_INT incx, const T* y, MORPH_INT incy, T* a, MORPH_INT lda);
#define MORPH_DOT(NAME, T)                                                                                             \
  cublasStatus_t MORPH_NAMED(NAME)(cublasHandle_t handle, MORPH_INT n, const T* x, MORPH_INT incx, const T* y,         \
      MORPH_INT incy, T* result);
#define MORPH_NORM(NAME, T, R) cublasStatus_t MORPH_NAMED(NAME)(cublasHandle_t handle, MORPH_INT n, const T* x,        \
    MORPH_INT incx, R* result);

#define MORPH_BATCHES(L, T)                                                                                            \
  cublasStatus_t cublas##L##getrfBatched(cublasHandle_t handle, int n, T* const a[], int lda, int* pivots,             \
      int* infos,                                                                                                      \
                                         int batch);                                                                   \
  cublasStatus_t cublas##L##getrsBatched(cublasHandle_t handle, cublasOperation_t op, int n, int columns,              \
                                         const T* const a[], int lda, const int* pivots, T* const b[], int ldb,        \
                                         int* info, int batch);                                                        \
  cublasStatus_t cublas##L##getriBatched(cublasHandle_t handle, int n, const T* const a[], int lda,                    \
      const int* pivots,                                                                                               \
                                         T* const c[], int ldc, int* infos, int batch);                                \
  cublasStatus_t cublas##L##matinvBatched(cublasHandle_t handle, int n, const T* const a[], int lda, T* const c[],     \
                                          int ldc, int* infos, int batch);                                             \
  cublasStatus_t cublas##L##geqrfBatched(cublasHandle_t handle, int m, int n, T* const a[], int lda,                   \
      T* const scales[],                                                                                               \
                                         int* info, int batch);
#define MORPH_ALL                                                                                                      \
  MORPH_GEMM(H, __half)                                                                                                \
  MORPH_EVERY(S, float)                                                                                                \
  MORPH_EVERY(D, double)                                                                                               \
  MORPH_EVERY(C, cuComplex)                                                                                            \
  MORPH_EVERY(Z, cuDoubleComplex)                                                                                      \
  MORPH_GER(cublasSger, float)                                                                                         \
  MORPH_GER(cublasDger, double)                                                                                        \
  MORPH_GER(cublasCgeru, cuComplex)                                                                                    \
  MORPH_GER(cublasZgeru, cuDoubleComplex)                                                                              \
  MORPH_GER(cublasCgerc, cuComplex)                                                                                    \
  MORPH_GER(cublasZgerc, cuDoubleComplex)                                                                              \
  MORPH_DOT(cublasSdot, float)                                                                                         \
  MORPH_DOT(cublasDdot, double)                                                                                        \
  MORPH_DOT(cublasCdotu, cuComplex)                                                                                    \
  MORPH_DOT(cublasZdotu, cuDoubleComplex)                                                                              \
  MORPH_DOT(cublasCdotc, cuComplex)                                                                                    \
  MORPH_DOT(cublasZdotc, cuDoubleComplex)                                                                              \
  MORPH_NORM(cublasSnrm2, float, float)                                                                                \
  MORPH_NORM(cublasDnrm2, double, double)                                                                              \
  MORPH_NORM(cublasScnrm2, cuComplex, float)                                                                           \
  MORPH_NORM(cublasDznrm2, cuDoubleComplex, double)                                                                    \
  MORPH_NORM(cublasSasum, float, float)                                                                                \
  MORPH_NORM(cublasDasum, double, double)                                                                              \
  MORPH_NORM(cublasScasum, cuComplex, float)                                                                           \
  MORPH_NORM(cublasDzasum, cuDoubleComplex, double)                                                                    \
  MORPH_NORM(cublasIsamax, float, MORPH_INT)                                                                           \
  MORPH_NORM(cublasIdamax, double, MORPH_INT)                                                                          \
  MORPH_NORM(cublasIcamax, cuComplex, MORPH_INT)                                                                       \
  MORPH_NORM(cublasIzamax, cuDoubleComplex, MORPH_INT)                                                                 \
  MORPH_NORM(cublasIsamin, float, MORPH_INT)                                                                           \
  MORPH_NORM(cublasIdamin, double, MORPH_INT)                                                                          \
  MORPH_NORM(cublasIcamin, cuComplex, MORPH_INT)                                                                       \
  MORPH_NORM(cublasIzamin, cuDoubleComplex, MORPH_INT)                                                                 \
  cublasStatus_t MORPH_NAMED(cublasGemmEx)(MORPH_SHAPE, const void* alpha, const void* a, cudaDataType type_a,         \
      MORPH_INT lda, const void* b, cudaDataType type_b, MORPH_INT ldb, const void* beta, void* c,                     \
      cudaDataType type_c, MORPH_INT ldc, cublasComputeType_t compute, cublasGemmAlgo_t algorithm);                    \
  cublasStatus_t MORPH_NAMED(cublasGemmStridedBatchedEx)(MORPH_SHAPE, const void* alpha, const void* a,                \
      cudaDataType type_a, MORPH_INT lda, long long stride_a, const void* b, cudaDataType type_b, MORPH_INT ldb,       \
      long long stride_b, const void* beta, void* c, cudaDataType type_c, MORPH_INT ldc, long long stride_c,           \
      MORPH_INT batch, cublasComputeType_t compute, cublasGemmAlgo_t algorithm);                                       \
  cublasStatus_t MORPH_NAMED(cublasGemmBatchedEx)(MORPH_SHAPE, const void* alpha, const void* const a[],               \
      cudaDataType type_a, MORPH_INT lda, const void* const b[], cudaDataType type_b, MORPH_INT ldb,                   \
      const void* beta, void* const c[], cudaDataType type_c, MORPH_INT ldc, MORPH_INT batch,                          \
      cublasComputeType_t compute, cublasGemmAlgo_t algorithm);                                                        \
  cublasStatus_t MORPH_NAMED(cublasSgemmEx)(MORPH_SHAPE, const float* alpha, const void* a, cudaDataType type_a,       \
      MORPH_INT lda, const void* b, cudaDataType type_b, MORPH_INT ldb, const float* beta, void* c,                    \
      cudaDataType type_c, MORPH_INT ldc);

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
MORPH_BATCHES(S, float)
MORPH_BATCHES(D, double)
MORPH_BATCHES(C, cuComplex)
MORPH_BATCHES(Z, cuDoubleComplex)
}
#undef MORPH_GEMM
#undef MORPH_EVERY
#undef MORPH_BATCHES
#undef MORPH_ALL
#undef MORPH_SHAPE
#define MORPH_SHAPE cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k
#undef MORPH_GER
#undef MORPH_DOT
#undef MORPH_NORM

// Until CUDA 11 the arithmetic was named by a type of data.
namespace morph_cuda {
inline cublasComputeType_t arithmetic_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F: return CUBLAS_COMPUTE_16F;
    case CUDA_R_32F: case CUDA_C_32F: return CUBLAS_COMPUTE_32F;
    case CUDA_R_64F: case CUDA_C_64F: return CUBLAS_COMPUTE_64F;
    case CUDA_R_32I: return CUBLAS_COMPUTE_32I;
    default: return cublasComputeType_t(0);  // which is not supported
  }
}
}  // namespace morph_cuda
inline cublasStatus_t cublasGemmEx(MORPH_SHAPE, const void* alpha, const void* a, cudaDataType type_a, int lda,
                                   const void* b, cudaDataType type_b, int ldb, const void* beta, void* c,
                                   cudaDataType type_c, int ldc, cudaDataType compute, cublasGemmAlgo_t algorithm) {
  return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                      morph_cuda::arithmetic_of(compute), algorithm);
}
inline cublasStatus_t cublasGemmStridedBatchedEx(MORPH_SHAPE, const void* alpha, const void* a, cudaDataType type_a,
                                                 int lda, long long stride_a, const void* b, cudaDataType type_b,
                                                 int ldb, long long stride_b, const void* beta, void* c,
                                                 cudaDataType type_c, int ldc, long long stride_c, int batch,
                                                 cudaDataType compute, cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb,
                                    stride_b, beta, c, type_c, ldc, stride_c, batch, morph_cuda::arithmetic_of(compute),
                                    algorithm);
}
inline cublasStatus_t cublasGemmBatchedEx(MORPH_SHAPE, const void* alpha, const void* const a[], cudaDataType type_a,
                                          int lda, const void* const b[], cudaDataType type_b, int ldb,
                                          const void* beta, void* const c[], cudaDataType type_c, int ldc, int batch,
                                          cudaDataType compute, cublasGemmAlgo_t algorithm) {
  return cublasGemmBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                             batch, morph_cuda::arithmetic_of(compute), algorithm);
}
#undef MORPH_SHAPE
