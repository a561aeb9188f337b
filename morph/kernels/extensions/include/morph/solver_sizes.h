// The sizes of cuSOLVER's workspaces. Included twice: MORPH_SIZE and MORPH_SIZES are what is made of each.
#define MORPH_HANDLE cusolverDnHandle_t handle
#define MORPH_SYMMETRIC(T) cusolverEigMode_t mode, cublasFillMode_t fill, int n, const T* a, int lda
#define MORPH_SOME(T) \
  cusolverEigMode_t mode, cusolverEigRange_t range, cublasFillMode_t fill, int n, const T* a, int lda
#define MORPH_RANGE(R) R low, R high, int first, int last, int* count
#define MORPH_VALUES(T, R) const T* a, int lda, const R* s, const T* u, int ldu, const T* v, int ldv
#define MORPH_EVERY(L, T, R, ORG, ORM, SY)                                                                           \
  MORPH_SIZE(cusolverDn##L##potrf_bufferSize, MORPH_HANDLE, cublasFillMode_t fill, int n, T* a, int lda, int* words)   \
  MORPH_SIZE(cusolverDn##L##potri_bufferSize, MORPH_HANDLE, cublasFillMode_t fill, int n, T* a, int lda, int* words)   \
  MORPH_SIZE(cusolverDn##L##getrf_bufferSize, MORPH_HANDLE, int m, int n, T* a, int lda, int* words)                   \
  MORPH_SIZE(cusolverDn##L##geqrf_bufferSize, MORPH_HANDLE, int m, int n, T* a, int lda, int* words)                   \
  MORPH_SIZE(cusolverDn##L##ORG##qr_bufferSize, MORPH_HANDLE, int m, int n, int k, const T* a, int lda, const T* tau,  \
             int* words)                                                                                               \
  MORPH_SIZE(cusolverDn##L##ORM##qr_bufferSize, MORPH_HANDLE, cublasSideMode_t side, cublasOperation_t op, int m,      \
             int n, int k, const T* a, int lda, const T* tau, const T* c, int ldc, int* words)                         \
  MORPH_SIZE(cusolverDn##L##gesvd_bufferSize, MORPH_HANDLE, int m, int n, int* words)                                  \
  MORPH_SIZE(cusolverDn##L##gesvdj_bufferSize, MORPH_HANDLE, cusolverEigMode_t mode, int is_economic, int m, int n,    \
             MORPH_VALUES(T, R), int* words, gesvdjInfo_t params)                                                      \
  MORPH_SIZE(cusolverDn##L##gesvdjBatched_bufferSize, MORPH_HANDLE, cusolverEigMode_t mode, int m, int n,              \
             MORPH_VALUES(T, R), int* words, gesvdjInfo_t params, int batch)                                           \
  MORPH_SIZE(cusolverDn##L##gesvdaStridedBatched_bufferSize, MORPH_HANDLE, cusolverEigMode_t mode, int rank, int m,    \
             int n, const T* a, int lda, long long stride_a, const R* s, long long stride_s, const T* u, int ldu,      \
             long long stride_u, const T* v, int ldv, long long stride_v, int* words, int batch)                       \
  MORPH_SIZE(cusolverDn##L##SY##evd_bufferSize, MORPH_HANDLE, MORPH_SYMMETRIC(T), const R* w, int* words)              \
  MORPH_SIZE(cusolverDn##L##SY##evdx_bufferSize, MORPH_HANDLE, MORPH_SOME(T), MORPH_RANGE(R), const R* w, int* words)  \
  MORPH_SIZE(cusolverDn##L##SY##evj_bufferSize, MORPH_HANDLE, MORPH_SYMMETRIC(T), const R* w, int* words,              \
             syevjInfo_t params)                                                                                       \
  MORPH_SIZE(cusolverDn##L##SY##evjBatched_bufferSize, MORPH_HANDLE, MORPH_SYMMETRIC(T), const R* w, int* words,       \
             syevjInfo_t params, int batch)                                                                            \
  MORPH_SIZE(cusolverDn##L##SY##gvd_bufferSize, MORPH_HANDLE, cusolverEigType_t type, MORPH_SYMMETRIC(T), const T* b,  \
             int ldb, const R* w, int* words)                                                                          \
  MORPH_SIZE(cusolverDn##L##SY##gvdx_bufferSize, MORPH_HANDLE, cusolverEigType_t type, MORPH_SOME(T), const T* b,      \
             int ldb, MORPH_RANGE(R), const R* w, int* words)                                                          \
  MORPH_SIZE(cusolverDn##L##SY##gvj_bufferSize, MORPH_HANDLE, cusolverEigType_t type, MORPH_SYMMETRIC(T), const T* b,  \
             int ldb, const R* w, int* words, syevjInfo_t params)
#define MORPH_REFINED(NAME, T)                                                                                        \
  MORPH_SIZE(cusolverDn##NAME##gesv_bufferSize, MORPH_HANDLE, int n, int columns, T* a, int lda, int* pivots, T* b,    \
             int ldb, T* x, int ldx, void* work, size_t* words)                                                        \
  MORPH_SIZE(cusolverDn##NAME##gels_bufferSize, MORPH_HANDLE, int m, int n, int columns, T* a, int lda, T* b, int ldb, \
             T* x, int ldx, void* work, size_t* words)
#define MORPH_WIDE MORPH_HANDLE, cusolverDnParams_t params
#define MORPH_ANY(X) cudaDataType type_##X, const void* X
#define MORPH_WORK cudaDataType compute, size_t* on_device, size_t* on_host

extern "C" {
MORPH_EVERY(S, float, float, org, orm, sy)
MORPH_EVERY(D, double, double, org, orm, sy)
MORPH_EVERY(C, cuComplex, float, ung, unm, he)
MORPH_EVERY(Z, cuDoubleComplex, double, ung, unm, he)
#include "morph/solver_pairs.h"
MORPH_SIZE(cusolverDnIRSXgesv_bufferSize, MORPH_HANDLE, cusolverDnIRSParams_t params, int n, int columns, size_t* words)
MORPH_SIZE(cusolverDnIRSXgels_bufferSize, MORPH_HANDLE, cusolverDnIRSParams_t params, int m, int n, int columns,
           size_t* words)
MORPH_SIZES(cusolverDnXpotrf_bufferSize, MORPH_WIDE, cublasFillMode_t fill, int64_t n, MORPH_ANY(a), int64_t lda,
            MORPH_WORK)
MORPH_SIZES(cusolverDnXgetrf_bufferSize, MORPH_WIDE, int64_t m, int64_t n, MORPH_ANY(a), int64_t lda, MORPH_WORK)
MORPH_SIZES(cusolverDnXgeqrf_bufferSize, MORPH_WIDE, int64_t m, int64_t n, MORPH_ANY(a), int64_t lda, MORPH_ANY(tau),
            MORPH_WORK)
MORPH_SIZES(cusolverDnXtrtri_bufferSize, MORPH_HANDLE, cublasFillMode_t fill, cublasDiagType_t diagonal, int64_t n,
            cudaDataType type, void* a, int64_t lda, size_t* on_device, size_t* on_host)
MORPH_SIZES(cusolverDnXgesvd_bufferSize, MORPH_WIDE, signed char job_u, signed char job_v, int64_t m, int64_t n,
            MORPH_ANY(a), int64_t lda, MORPH_ANY(s), MORPH_ANY(u), int64_t ldu, MORPH_ANY(v), int64_t ldv, MORPH_WORK)
MORPH_SIZES(cusolverDnXgesvdp_bufferSize, MORPH_WIDE, cusolverEigMode_t mode, int is_economic, int64_t m, int64_t n,
            MORPH_ANY(a), int64_t lda, MORPH_ANY(s), MORPH_ANY(u), int64_t ldu, MORPH_ANY(v), int64_t ldv, MORPH_WORK)
MORPH_SIZES(cusolverDnXgesvdr_bufferSize, MORPH_WIDE, signed char job_u, signed char job_v, int64_t m, int64_t n,
            int64_t rank, int64_t more, int64_t iterations, MORPH_ANY(a), int64_t lda, MORPH_ANY(s), MORPH_ANY(u),
            int64_t ldu, MORPH_ANY(v), int64_t ldv, MORPH_WORK)
MORPH_SIZES(cusolverDnXsyevd_bufferSize, MORPH_WIDE, cusolverEigMode_t mode, cublasFillMode_t fill, int64_t n,
            MORPH_ANY(a), int64_t lda, MORPH_ANY(w), MORPH_WORK)
MORPH_SIZES(cusolverDnXsyevdx_bufferSize, MORPH_WIDE, cusolverEigMode_t mode, cusolverEigRange_t range,
            cublasFillMode_t fill, int64_t n, MORPH_ANY(a), int64_t lda, void* low, void* high, int64_t first,
            int64_t last, int64_t* count, MORPH_ANY(w), MORPH_WORK)
MORPH_SIZES(cusolverDnXsyevBatched_bufferSize, MORPH_WIDE, cusolverEigMode_t mode, cublasFillMode_t fill, int64_t n,
            MORPH_ANY(a), int64_t lda, MORPH_ANY(w), MORPH_WORK, int64_t batch)
MORPH_SIZES(cusolverDnXgeev_bufferSize, MORPH_WIDE, cusolverEigMode_t mode_left, cusolverEigMode_t mode_right,
            int64_t n, MORPH_ANY(a), int64_t lda, MORPH_ANY(w), MORPH_ANY(left), int64_t ldl, MORPH_ANY(right),
            int64_t ldr, MORPH_WORK)
}
#undef MORPH_HANDLE
#undef MORPH_SYMMETRIC
#undef MORPH_SOME
#undef MORPH_RANGE
#undef MORPH_VALUES
#undef MORPH_EVERY
#undef MORPH_REFINED
#undef MORPH_WIDE
#undef MORPH_ANY
#undef MORPH_WORK
