// The functions of cuSOLVER whose sizes have 64 bits, and whose types are told when they are called.
#pragma once

#define MORPH_WIDE cusolverDnHandle_t handle, cusolverDnParams_t params
#define MORPH_ANY(X) cudaDataType type_##X, void* X
#define MORPH_WORK void* on_device, size_t device_bytes, void* on_host, size_t host_bytes, int* info

extern "C" {
cusolverStatus_t cusolverDnXpotrf(MORPH_WIDE, cublasFillMode_t fill, int64_t n, MORPH_ANY(a), int64_t lda,
                                  cudaDataType compute, MORPH_WORK);
cusolverStatus_t cusolverDnXpotrs(MORPH_WIDE, cublasFillMode_t fill, int64_t n, int64_t columns, cudaDataType type_a,
                                  const void* a, int64_t lda, MORPH_ANY(b), int64_t ldb, int* info);
cusolverStatus_t cusolverDnXgetrf(MORPH_WIDE, int64_t m, int64_t n, MORPH_ANY(a), int64_t lda, int64_t* pivots,
                                  cudaDataType compute, MORPH_WORK);
cusolverStatus_t cusolverDnXgetrs(MORPH_WIDE, cublasOperation_t op, int64_t n, int64_t columns, cudaDataType type_a,
                                  const void* a, int64_t lda, const int64_t* pivots, MORPH_ANY(b), int64_t ldb,
                                  int* info);
cusolverStatus_t cusolverDnXtrtri(cusolverDnHandle_t handle, cublasFillMode_t fill, cublasDiagType_t diagonal,
                                  int64_t n, cudaDataType type, void* a, int64_t lda, MORPH_WORK);
cusolverStatus_t cusolverDnXgeqrf(MORPH_WIDE, int64_t m, int64_t n, MORPH_ANY(a), int64_t lda, MORPH_ANY(tau),
                                  cudaDataType compute, MORPH_WORK);
cusolverStatus_t cusolverDnXgesvd(MORPH_WIDE, signed char job_u, signed char job_v, int64_t m, int64_t n, MORPH_ANY(a),
                                  int64_t lda, MORPH_ANY(s), MORPH_ANY(u), int64_t ldu, MORPH_ANY(v), int64_t ldv,
                                  cudaDataType compute, MORPH_WORK);
cusolverStatus_t cusolverDnXgesvdp(MORPH_WIDE, cusolverEigMode_t mode, int is_economic, int64_t m, int64_t n,
                                   MORPH_ANY(a), int64_t lda, MORPH_ANY(s), MORPH_ANY(u), int64_t ldu, MORPH_ANY(v),
                                   int64_t ldv, cudaDataType compute, MORPH_WORK, double* error);
cusolverStatus_t cusolverDnXgesvdr(MORPH_WIDE, signed char job_u, signed char job_v, int64_t m, int64_t n, int64_t rank,
                                   int64_t more, int64_t iterations, MORPH_ANY(a), int64_t lda, MORPH_ANY(s),
                                   MORPH_ANY(u), int64_t ldu, MORPH_ANY(v), int64_t ldv, cudaDataType compute,
                                   MORPH_WORK);
cusolverStatus_t cusolverDnXsyevd(MORPH_WIDE, cusolverEigMode_t mode, cublasFillMode_t fill, int64_t n, MORPH_ANY(a),
                                  int64_t lda, MORPH_ANY(w), cudaDataType compute, MORPH_WORK);
cusolverStatus_t cusolverDnXsyevdx(MORPH_WIDE, cusolverEigMode_t mode, cusolverEigRange_t range, cublasFillMode_t fill,
                                   int64_t n, MORPH_ANY(a), int64_t lda, void* low, void* high, int64_t first,
                                   int64_t last, int64_t* count, MORPH_ANY(w), cudaDataType compute, MORPH_WORK);
cusolverStatus_t cusolverDnXsyevBatched(MORPH_WIDE, cusolverEigMode_t mode, cublasFillMode_t fill, int64_t n,
                                        MORPH_ANY(a), int64_t lda, MORPH_ANY(w), cudaDataType compute, MORPH_WORK,
                                        int64_t batch);
cusolverStatus_t cusolverDnXgeev(MORPH_WIDE, cusolverEigMode_t mode_left, cusolverEigMode_t mode_right, int64_t n,
                                 MORPH_ANY(a), int64_t lda, MORPH_ANY(w), MORPH_ANY(left), int64_t ldl,
                                 MORPH_ANY(right), int64_t ldr, cudaDataType compute, MORPH_WORK);
}
#undef MORPH_WIDE
#undef MORPH_ANY
#undef MORPH_WORK
