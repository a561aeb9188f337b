// cuSOLVER of sparse matrices: what solves in one call, in batches, and the orders of matrices.
#pragma once
#define CUSOLVERSP_H_

#include "morph/solver.h"
#include "morph/sparse_functions.h"

typedef struct cusolverSpContext* cusolverSpHandle_t;
typedef struct csrqrInfo* csrqrInfo_t;

#define MORPH_HANDLE cusolverSpHandle_t handle
#define MORPH_PLACES const cusparseMatDescr_t descr, const int *offsets, const int *columns
#define MORPH_CSR(T) const cusparseMatDescr_t descr, const T *values, const int *offsets, const int *columns
#define MORPH_SOLVES(NAME, T, R)                                                                             \
  cusolverStatus_t NAME(MORPH_HANDLE, int n, int nnz, MORPH_CSR(T), const T* b, R tolerance, int reorder, T* x, \
                        int* singularity);
#define MORPH_EIGEN(NAME, T, R)                                                                             \
  cusolverStatus_t NAME(MORPH_HANDLE, int n, int nnz, MORPH_CSR(T), T near, const T* start, int iterations, \
                        R tolerance, T* value, T* x);
#define MORPH_EVERY(L, T, R)                                                                                       \
  MORPH_SOLVES(cusolverSp##L##csrlsvqr, T, R)                                                                      \
  MORPH_SOLVES(cusolverSp##L##csrlsvqrHost, T, R)                                                                  \
  MORPH_SOLVES(cusolverSp##L##csrlsvchol, T, R)                                                                    \
  MORPH_SOLVES(cusolverSp##L##csrlsvcholHost, T, R)                                                                \
  MORPH_SOLVES(cusolverSp##L##csrlsvluHost, T, R)                                                                  \
  MORPH_EIGEN(cusolverSp##L##csreigvsi, T, R)                                                                      \
  MORPH_EIGEN(cusolverSp##L##csreigvsiHost, T, R)                                                                  \
  cusolverStatus_t cusolverSp##L##csrlsqvqrHost(MORPH_HANDLE, int m, int n, int nnz, MORPH_CSR(T), const T* b,     \
                                                R tolerance, int* rank, T* x, int* p, R* residual);                \
  cusolverStatus_t cusolverSp##L##csrqrBufferInfoBatched(MORPH_HANDLE, int m, int n, int nnz, MORPH_CSR(T), int batch, \
                                                         csrqrInfo_t info, size_t* internal, size_t* workspace);   \
  cusolverStatus_t cusolverSp##L##csrqrsvBatched(MORPH_HANDLE, int m, int n, int nnz, MORPH_CSR(T), const T* b,    \
                                                 T* x, int batch, csrqrInfo_t info, void* buffer);

extern "C" {
cusolverStatus_t cusolverSpCreate(cusolverSpHandle_t* handle);
cusolverStatus_t cusolverSpDestroy(cusolverSpHandle_t handle);
cusolverStatus_t cusolverSpSetStream(cusolverSpHandle_t handle, cudaStream_t stream);
cusolverStatus_t cusolverSpGetStream(cusolverSpHandle_t handle, cudaStream_t* stream);
cusolverStatus_t cusolverSpCreateCsrqrInfo(csrqrInfo_t* info);
cusolverStatus_t cusolverSpDestroyCsrqrInfo(csrqrInfo_t info);
MORPH_EVERY(S, float, float)
MORPH_EVERY(D, double, double)
MORPH_EVERY(C, cuComplex, float)
MORPH_EVERY(Z, cuDoubleComplex, double)
cusolverStatus_t cusolverSpXcsrqrAnalysisBatched(MORPH_HANDLE, int m, int n, int nnz, MORPH_PLACES, csrqrInfo_t info);
cusolverStatus_t cusolverSpXcsrissymHost(MORPH_HANDLE, int n, int nnz, const cusparseMatDescr_t descr,
                                         const int* offsets, const int* ends, const int* columns, int* is_symmetric);
cusolverStatus_t cusolverSpXcsrsymrcmHost(MORPH_HANDLE, int n, int nnz, MORPH_PLACES, int* p);
cusolverStatus_t cusolverSpXcsrsymmdqHost(MORPH_HANDLE, int n, int nnz, MORPH_PLACES, int* p);
cusolverStatus_t cusolverSpXcsrsymamdHost(MORPH_HANDLE, int n, int nnz, MORPH_PLACES, int* p);
cusolverStatus_t cusolverSpXcsrmetisndHost(MORPH_HANDLE, int n, int nnz, MORPH_PLACES, const int64_t* options, int* p);
cusolverStatus_t cusolverSpXcsrperm_bufferSizeHost(MORPH_HANDLE, int m, int n, int nnz, MORPH_PLACES, const int* p,
                                                   const int* q, size_t* bytes);
cusolverStatus_t cusolverSpXcsrpermHost(MORPH_HANDLE, int m, int n, int nnz, const cusparseMatDescr_t descr,
                                        int* offsets, int* columns, const int* p, const int* q, int* map, void* buffer);
}
#undef MORPH_HANDLE
#undef MORPH_PLACES
#undef MORPH_CSR
#undef MORPH_SOLVES
#undef MORPH_EIGEN
#undef MORPH_EVERY
