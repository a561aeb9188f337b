// The functions of cuBLAS, by the letter of their type.
#pragma once

#define MORPH_SHAPE cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k
#define MORPH_GEMM(L, T)                                                                                              \
  cublasStatus_t cublas##L##gemm(MORPH_SHAPE, const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, \
                                 T* c, int ldc);                                                                       \
  cublasStatus_t cublas##L##gemmStridedBatched(MORPH_SHAPE, const T* alpha, const T* a, int lda, long long stride_a,   \
                                               const T* b, int ldb, long long stride_b, const T* beta, T* c, int ldc,  \
                                               long long stride_c, int batch);                                         \
  cublasStatus_t cublas##L##gemmBatched(MORPH_SHAPE, const T* alpha, const T* const a[], int lda, const T* const b[],  \
                                        int ldb, const T* beta, T* const c[], int ldc, int batch);
#define MORPH_BATCHES(L, T)                                                                                             \
  cublasStatus_t cublas##L##getrfBatched(cublasHandle_t handle, int n, T* const a[], int lda, int* pivots, int* infos,  \
                                         int batch);                                                                    \
  cublasStatus_t cublas##L##getrsBatched(cublasHandle_t handle, cublasOperation_t op, int n, int columns,               \
                                         const T* const a[], int lda, const int* pivots, T* const b[], int ldb,         \
                                         int* info, int batch);                                                         \
  cublasStatus_t cublas##L##getriBatched(cublasHandle_t handle, int n, const T* const a[], int lda, const int* pivots,  \
                                         T* const c[], int ldc, int* infos, int batch);                                 \
  cublasStatus_t cublas##L##matinvBatched(cublasHandle_t handle, int n, const T* const a[], int lda, T* const c[],      \
                                          int ldc, int* infos, int batch);                                              \
  cublasStatus_t cublas##L##geqrfBatched(cublasHandle_t handle, int m, int n, T* const a[], int lda, T* const scales[], \
                                         int* info, int batch);
#define MORPH_EVERY(L, T)                                                                                             \
  MORPH_GEMM(L, T)                                                                                                     \
  MORPH_BATCHES(L, T)                                                                                                  \
  cublasStatus_t cublas##L##geam(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,  \
                                 const T* alpha, const T* a, int lda, const T* beta, const T* b, int ldb, T* c, int ldc); \
  cublasStatus_t cublas##L##trsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,                  \
                                 cublasOperation_t op, cublasDiagType_t diagonal, int m, int n, const T* alpha,        \
                                 const T* a, int lda, T* b, int ldb);                                                  \
  cublasStatus_t cublas##L##trsmBatched(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,           \
                                        cublasOperation_t op, cublasDiagType_t diagonal, int m, int n, const T* alpha, \
                                        const T* const a[], int lda, T* const b[], int ldb, int batch);                \
  cublasStatus_t cublas##L##gemv(cublasHandle_t handle, cublasOperation_t op, int m, int n, const T* alpha, const T* a, \
                                 int lda, const T* x, int incx, const T* beta, T* y, int incy);                        \
  cublasStatus_t cublas##L##dgmm(cublasHandle_t handle, cublasSideMode_t side, int m, int n, const T* a, int lda,      \
                                 const T* x, int incx, T* c, int ldc);                                                 \
  cublasStatus_t cublas##L##axpy(cublasHandle_t handle, int n, const T* alpha, const T* x, int incx, T* y, int incy);  \
  cublasStatus_t cublas##L##scal(cublasHandle_t handle, int n, const T* alpha, T* x, int incx);                        \
  cublasStatus_t cublas##L##copy(cublasHandle_t handle, int n, const T* x, int incx, T* y, int incy);                  \
  cublasStatus_t cublas##L##swap(cublasHandle_t handle, int n, T* x, int incx, T* y, int incy);
#define MORPH_GER(NAME, T)                                                                                            \
  cublasStatus_t NAME(cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int incx, const T* y, int incy, \
                      T* a, int lda);
#define MORPH_DOT(NAME, T) \
  cublasStatus_t NAME(cublasHandle_t handle, int n, const T* x, int incx, const T* y, int incy, T* result);
#define MORPH_NORM(NAME, T, R) cublasStatus_t NAME(cublasHandle_t handle, int n, const T* x, int incx, R* result);

extern "C" {
MORPH_GEMM(H, __half)
MORPH_EVERY(S, float)
MORPH_EVERY(D, double)
MORPH_EVERY(C, cuComplex)
MORPH_EVERY(Z, cuDoubleComplex)
MORPH_GER(cublasSger, float)
MORPH_GER(cublasDger, double)
MORPH_GER(cublasCgeru, cuComplex)
MORPH_GER(cublasZgeru, cuDoubleComplex)
MORPH_GER(cublasCgerc, cuComplex)
MORPH_GER(cublasZgerc, cuDoubleComplex)
MORPH_DOT(cublasSdot, float)
MORPH_DOT(cublasDdot, double)
MORPH_DOT(cublasCdotu, cuComplex)
MORPH_DOT(cublasZdotu, cuDoubleComplex)
MORPH_DOT(cublasCdotc, cuComplex)
MORPH_DOT(cublasZdotc, cuDoubleComplex)
MORPH_NORM(cublasSnrm2, float, float)
MORPH_NORM(cublasDnrm2, double, double)
MORPH_NORM(cublasScnrm2, cuComplex, float)
MORPH_NORM(cublasDznrm2, cuDoubleComplex, double)
MORPH_NORM(cublasSasum, float, float)
MORPH_NORM(cublasDasum, double, double)
MORPH_NORM(cublasScasum, cuComplex, float)
MORPH_NORM(cublasDzasum, cuDoubleComplex, double)
MORPH_NORM(cublasIsamax, float, int)
MORPH_NORM(cublasIdamax, double, int)
MORPH_NORM(cublasIcamax, cuComplex, int)
MORPH_NORM(cublasIzamax, cuDoubleComplex, int)
MORPH_NORM(cublasIsamin, float, int)
MORPH_NORM(cublasIdamin, double, int)
MORPH_NORM(cublasIcamin, cuComplex, int)
MORPH_NORM(cublasIzamin, cuDoubleComplex, int)

cublasStatus_t cublasGemmEx(MORPH_SHAPE, const void* alpha, const void* a, cudaDataType type_a, int lda, const void* b,
                            cudaDataType type_b, int ldb, const void* beta, void* c, cudaDataType type_c, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
cublasStatus_t cublasGemmStridedBatchedEx(MORPH_SHAPE, const void* alpha, const void* a, cudaDataType type_a, int lda,
                                          long long stride_a, const void* b, cudaDataType type_b, int ldb,
                                          long long stride_b, const void* beta, void* c, cudaDataType type_c, int ldc,
                                          long long stride_c, int batch, cublasComputeType_t compute,
                                          cublasGemmAlgo_t algorithm);
cublasStatus_t cublasGemmBatchedEx(MORPH_SHAPE, const void* alpha, const void* const a[], cudaDataType type_a, int lda,
                                   const void* const b[], cudaDataType type_b, int ldb, const void* beta,
                                   void* const c[], cudaDataType type_c, int ldc, int batch,
                                   cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
cublasStatus_t cublasSgemmEx(MORPH_SHAPE, const float* alpha, const void* a, cudaDataType type_a, int lda, const void* b,
                             cudaDataType type_b, int ldb, const float* beta, void* c, cudaDataType type_c, int ldc);
}
#undef MORPH_GEMM
#undef MORPH_EVERY
#undef MORPH_BATCHES
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
