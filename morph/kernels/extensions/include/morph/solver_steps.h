// cuSOLVER of sparse matrices step by step: factors that are kept, and what is solved with them.
#pragma once
#define CUSOLVERSP_LOWLEVEL_PREVIEW_H_

#include "morph/solver_sparse.h"

typedef struct csrluInfoHost* csrluInfoHost_t;
typedef struct csrqrInfoHost* csrqrInfoHost_t;
typedef struct csrcholInfo* csrcholInfo_t;
typedef struct csrcholInfoHost* csrcholInfoHost_t;

#define MORPH_HANDLE cusolverSpHandle_t handle
#define MORPH_PLACES const cusparseMatDescr_t descr, const int *offsets, const int *columns
#define MORPH_CSR(T) const cusparseMatDescr_t descr, const T *values, const int *offsets, const int *columns
#define MORPH_SIZES size_t *internal, size_t *workspace
#define MORPH_QR(L, T, R, WHERE, INFO)                                                                            \
  cusolverStatus_t cusolverSp##L##csrqrBufferInfo##WHERE(MORPH_HANDLE, int m, int n, int nnz, MORPH_CSR(T),       \
                                                         INFO info, MORPH_SIZES);                                 \
  cusolverStatus_t cusolverSp##L##csrqrSetup##WHERE(MORPH_HANDLE, int m, int n, int nnz, MORPH_CSR(T), T shift,   \
                                                    INFO info);                                                   \
  cusolverStatus_t cusolverSp##L##csrqrFactor##WHERE(MORPH_HANDLE, int m, int n, int nnz, T* b, T* x, INFO info,  \
                                                     void* buffer);                                               \
  cusolverStatus_t cusolverSp##L##csrqrZeroPivot##WHERE(MORPH_HANDLE, INFO info, R tolerance, int* position);     \
  cusolverStatus_t cusolverSp##L##csrqrSolve##WHERE(MORPH_HANDLE, int m, int n, T* b, T* x, INFO info, void* buffer);
#define MORPH_CHOLESKY(L, T, R, WHERE, INFO)                                                                      \
  cusolverStatus_t cusolverSp##L##csrcholBufferInfo##WHERE(MORPH_HANDLE, int n, int nnz, MORPH_CSR(T), INFO info, \
                                                           MORPH_SIZES);                                          \
  cusolverStatus_t cusolverSp##L##csrcholFactor##WHERE(MORPH_HANDLE, int n, int nnz, MORPH_CSR(T), INFO info,     \
                                                       void* buffer);                                             \
  cusolverStatus_t cusolverSp##L##csrcholZeroPivot##WHERE(MORPH_HANDLE, INFO info, R tolerance, int* position);   \
  cusolverStatus_t cusolverSp##L##csrcholSolve##WHERE(MORPH_HANDLE, int n, const T* b, T* x, INFO info, void* buffer);
#define MORPH_EVERY(L, T, R)                                                                                      \
  MORPH_QR(L, T, R, , csrqrInfo_t)                                                                                \
  MORPH_QR(L, T, R, Host, csrqrInfoHost_t)                                                                        \
  MORPH_CHOLESKY(L, T, R, , csrcholInfo_t)                                                                        \
  MORPH_CHOLESKY(L, T, R, Host, csrcholInfoHost_t)                                                                \
  cusolverStatus_t cusolverSp##L##csrcholDiag(MORPH_HANDLE, csrcholInfo_t info, R* diagonal);                     \
  cusolverStatus_t cusolverSp##L##csrluBufferInfoHost(MORPH_HANDLE, int n, int nnz, MORPH_CSR(T),                 \
                                                      csrluInfoHost_t info, MORPH_SIZES);                         \
  cusolverStatus_t cusolverSp##L##csrluFactorHost(MORPH_HANDLE, int n, int nnz, MORPH_CSR(T), csrluInfoHost_t info, \
                                                  R threshold, void* buffer);                                     \
  cusolverStatus_t cusolverSp##L##csrluZeroPivotHost(MORPH_HANDLE, csrluInfoHost_t info, R tolerance, int* position); \
  cusolverStatus_t cusolverSp##L##csrluSolveHost(MORPH_HANDLE, int n, const T* b, T* x, csrluInfoHost_t info,     \
                                                 void* buffer);                                                   \
  cusolverStatus_t cusolverSp##L##csrluExtractHost(                                                               \
      MORPH_HANDLE, int* p, int* q, const cusparseMatDescr_t descr_l, T* values_l, int* offsets_l, int* columns_l, \
      const cusparseMatDescr_t descr_u, T* values_u, int* offsets_u, int* columns_u, csrluInfoHost_t info,        \
      void* buffer);

#define MORPH_INFO(NAME, INFO)                            \
  cusolverStatus_t cusolverSpCreate##NAME(INFO* info);    \
  cusolverStatus_t cusolverSpDestroy##NAME(INFO info);

extern "C" {
MORPH_INFO(CsrluInfoHost, csrluInfoHost_t)
MORPH_INFO(CsrqrInfoHost, csrqrInfoHost_t)
MORPH_INFO(CsrcholInfo, csrcholInfo_t)
MORPH_INFO(CsrcholInfoHost, csrcholInfoHost_t)
cusolverStatus_t cusolverSpXcsrluAnalysisHost(MORPH_HANDLE, int n, int nnz, MORPH_PLACES, csrluInfoHost_t info);
cusolverStatus_t cusolverSpXcsrluNnzHost(MORPH_HANDLE, int* of_l, int* of_u, csrluInfoHost_t info);
cusolverStatus_t cusolverSpXcsrqrAnalysis(MORPH_HANDLE, int m, int n, int nnz, MORPH_PLACES, csrqrInfo_t info);
cusolverStatus_t cusolverSpXcsrqrAnalysisHost(MORPH_HANDLE, int m, int n, int nnz, MORPH_PLACES, csrqrInfoHost_t info);
cusolverStatus_t cusolverSpXcsrcholAnalysis(MORPH_HANDLE, int n, int nnz, MORPH_PLACES, csrcholInfo_t info);
cusolverStatus_t cusolverSpXcsrcholAnalysisHost(MORPH_HANDLE, int n, int nnz, MORPH_PLACES, csrcholInfoHost_t info);
MORPH_EVERY(S, float, float)
MORPH_EVERY(D, double, double)
MORPH_EVERY(C, cuComplex, float)
MORPH_EVERY(Z, cuDoubleComplex, double)
}
#undef MORPH_HANDLE
#undef MORPH_PLACES
#undef MORPH_CSR
#undef MORPH_SIZES
#undef MORPH_QR
#undef MORPH_CHOLESKY
#undef MORPH_EVERY
#undef MORPH_INFO
