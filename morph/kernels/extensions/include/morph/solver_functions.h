// The functions of cuSOLVER, by the letter of their type. Before `info` stand a workspace and its size.
#pragma once

#define MORPH_HANDLE cusolverDnHandle_t handle
#define MORPH_SYMMETRIC(T) cusolverEigMode_t mode, cublasFillMode_t fill, int n, T* a, int lda
#define MORPH_SOME(T) cusolverEigMode_t mode, cusolverEigRange_t range, cublasFillMode_t fill, int n, T* a, int lda
#define MORPH_RANGE(R) R low, R high, int first, int last, int* count
#define MORPH_VALUES(T, R) T* a, int lda, R* s, T* u, int ldu, T* v, int ldv
#define MORPH_WORK(T) T* work, int words, int* info
#define MORPH_EVERY(L, T, R, ORG, ORM, SY)                                                                           \
  cusolverStatus_t cusolverDn##L##potrf(MORPH_HANDLE, cublasFillMode_t fill, int n, T* a, int lda, MORPH_WORK(T));     \
  cusolverStatus_t cusolverDn##L##potri(MORPH_HANDLE, cublasFillMode_t fill, int n, T* a, int lda, MORPH_WORK(T));     \
  cusolverStatus_t cusolverDn##L##potrs(MORPH_HANDLE, cublasFillMode_t fill, int n, int columns, const T* a, int lda,  \
                                        T* b, int ldb, int* info);                                                     \
  cusolverStatus_t cusolverDn##L##potrfBatched(MORPH_HANDLE, cublasFillMode_t fill, int n, T* a[], int lda,            \
                                               int* infos, int batch);                                                 \
  cusolverStatus_t cusolverDn##L##potrsBatched(MORPH_HANDLE, cublasFillMode_t fill, int n, int columns, T* a[],        \
                                               int lda, T* b[], int ldb, int* info, int batch);                        \
  cusolverStatus_t cusolverDn##L##getrf(MORPH_HANDLE, int m, int n, T* a, int lda, T* work, int* pivots, int* info);   \
  cusolverStatus_t cusolverDn##L##getrs(MORPH_HANDLE, cublasOperation_t op, int n, int columns, const T* a, int lda,   \
                                        const int* pivots, T* b, int ldb, int* info);                                  \
  cusolverStatus_t cusolverDn##L##geqrf(MORPH_HANDLE, int m, int n, T* a, int lda, T* tau, MORPH_WORK(T));             \
  cusolverStatus_t cusolverDn##L##ORG##qr(MORPH_HANDLE, int m, int n, int k, T* a, int lda, const T* tau,              \
                                          MORPH_WORK(T));                                                              \
  cusolverStatus_t cusolverDn##L##ORM##qr(MORPH_HANDLE, cublasSideMode_t side, cublasOperation_t op, int m, int n,     \
                                          int k, const T* a, int lda, const T* tau, T* c, int ldc, MORPH_WORK(T));     \
  cusolverStatus_t cusolverDn##L##gesvd(MORPH_HANDLE, signed char job_u, signed char job_v, int m, int n,              \
                                        MORPH_VALUES(T, R), T* work, int words, R* rest, int* info);                   \
  cusolverStatus_t cusolverDn##L##gesvdj(MORPH_HANDLE, cusolverEigMode_t mode, int is_economic, int m, int n,          \
                                         MORPH_VALUES(T, R), MORPH_WORK(T), gesvdjInfo_t params);                      \
  cusolverStatus_t cusolverDn##L##gesvdjBatched(MORPH_HANDLE, cusolverEigMode_t mode, int m, int n,                    \
                                                MORPH_VALUES(T, R), T* work, int words, int* infos,                    \
                                                gesvdjInfo_t params, int batch);                                       \
  cusolverStatus_t cusolverDn##L##gesvdaStridedBatched(                                                                \
      MORPH_HANDLE, cusolverEigMode_t mode, int rank, int m, int n, const T* a, int lda, long long stride_a, R* s,     \
      long long stride_s, T* u, int ldu, long long stride_u, T* v, int ldv, long long stride_v, T* work, int words,    \
      int* infos, double* residuals, int batch);                                                                       \
  cusolverStatus_t cusolverDn##L##SY##evd(MORPH_HANDLE, MORPH_SYMMETRIC(T), R* w, MORPH_WORK(T));                      \
  cusolverStatus_t cusolverDn##L##SY##evdx(MORPH_HANDLE, MORPH_SOME(T), MORPH_RANGE(R), R* w, MORPH_WORK(T));          \
  cusolverStatus_t cusolverDn##L##SY##evj(MORPH_HANDLE, MORPH_SYMMETRIC(T), R* w, MORPH_WORK(T), syevjInfo_t params);  \
  cusolverStatus_t cusolverDn##L##SY##evjBatched(MORPH_HANDLE, MORPH_SYMMETRIC(T), R* w, T* work, int words,           \
                                                 int* infos, syevjInfo_t params, int batch);                           \
  cusolverStatus_t cusolverDn##L##SY##gvd(MORPH_HANDLE, cusolverEigType_t type, MORPH_SYMMETRIC(T), T* b, int ldb,     \
                                          R* w, MORPH_WORK(T));                                                        \
  cusolverStatus_t cusolverDn##L##SY##gvdx(MORPH_HANDLE, cusolverEigType_t type, MORPH_SOME(T), T* b, int ldb,         \
                                           MORPH_RANGE(R), R* w, MORPH_WORK(T));                                       \
  cusolverStatus_t cusolverDn##L##SY##gvj(MORPH_HANDLE, cusolverEigType_t type, MORPH_SYMMETRIC(T), T* b, int ldb,     \
                                          R* w, MORPH_WORK(T), syevjInfo_t params);

extern "C" {
MORPH_EVERY(S, float, float, org, orm, sy)
MORPH_EVERY(D, double, double, org, orm, sy)
MORPH_EVERY(C, cuComplex, float, ung, unm, he)
MORPH_EVERY(Z, cuDoubleComplex, double, ung, unm, he)
}
#undef MORPH_HANDLE
#undef MORPH_SYMMETRIC
#undef MORPH_SOME
#undef MORPH_RANGE
#undef MORPH_VALUES
#undef MORPH_WORK
#undef MORPH_EVERY
