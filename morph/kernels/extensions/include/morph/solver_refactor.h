// cuSOLVER's refactorization: factors of matrices that have the same places and other numbers.
#pragma once
#define CUSOLVERRF_H_

#include "morph/solver.h"

typedef enum { CUSOLVERRF_RESET_VALUES_FAST_MODE_OFF, CUSOLVERRF_RESET_VALUES_FAST_MODE_ON } cusolverRfResetValuesFastMode_t;
typedef enum { CUSOLVERRF_MATRIX_FORMAT_CSR, CUSOLVERRF_MATRIX_FORMAT_CSC } cusolverRfMatrixFormat_t;
typedef enum {
  CUSOLVERRF_UNIT_DIAGONAL_STORED_L,
  CUSOLVERRF_UNIT_DIAGONAL_STORED_U,
  CUSOLVERRF_UNIT_DIAGONAL_ASSUMED_L,
  CUSOLVERRF_UNIT_DIAGONAL_ASSUMED_U,
} cusolverRfUnitDiagonal_t;
typedef enum {
  CUSOLVERRF_FACTORIZATION_ALG0,
  CUSOLVERRF_FACTORIZATION_ALG1,
  CUSOLVERRF_FACTORIZATION_ALG2,
} cusolverRfFactorization_t;
typedef enum {
  CUSOLVERRF_TRIANGULAR_SOLVE_ALG1 = 1,
  CUSOLVERRF_TRIANGULAR_SOLVE_ALG2 = 2,
  CUSOLVERRF_TRIANGULAR_SOLVE_ALG3 = 3,
} cusolverRfTriangularSolve_t;
typedef enum { CUSOLVERRF_NUMERIC_BOOST_NOT_USED, CUSOLVERRF_NUMERIC_BOOST_USED } cusolverRfNumericBoostReport_t;
typedef struct cusolverRfCommon* cusolverRfHandle_t;

#define MORPH_HANDLE cusolverRfHandle_t handle
#define MORPH_CSR(X) int nnz_##X, const int *offsets_##X, const int *columns_##X, const double *values_##X

extern "C" {
cusolverStatus_t cusolverRfCreate(cusolverRfHandle_t* handle);
cusolverStatus_t cusolverRfDestroy(MORPH_HANDLE);
cusolverStatus_t cusolverRfGetMatrixFormat(MORPH_HANDLE, cusolverRfMatrixFormat_t* format,
                                           cusolverRfUnitDiagonal_t* diagonal);
cusolverStatus_t cusolverRfSetMatrixFormat(MORPH_HANDLE, cusolverRfMatrixFormat_t format,
                                           cusolverRfUnitDiagonal_t diagonal);
cusolverStatus_t cusolverRfSetNumericProperties(MORPH_HANDLE, double zero, double boost);
cusolverStatus_t cusolverRfGetNumericProperties(MORPH_HANDLE, double* zero, double* boost);
cusolverStatus_t cusolverRfGetNumericBoostReport(MORPH_HANDLE, cusolverRfNumericBoostReport_t* report);
cusolverStatus_t cusolverRfSetAlgs(MORPH_HANDLE, cusolverRfFactorization_t factors, cusolverRfTriangularSolve_t solves);
cusolverStatus_t cusolverRfGetAlgs(MORPH_HANDLE, cusolverRfFactorization_t* factors,
                                   cusolverRfTriangularSolve_t* solves);
cusolverStatus_t cusolverRfGetResetValuesFastMode(MORPH_HANDLE, cusolverRfResetValuesFastMode_t* mode);
cusolverStatus_t cusolverRfSetResetValuesFastMode(MORPH_HANDLE, cusolverRfResetValuesFastMode_t mode);
cusolverStatus_t cusolverRfSetupHost(int n, MORPH_CSR(a), MORPH_CSR(l), MORPH_CSR(u), const int* p, const int* q,
                                     MORPH_HANDLE);
cusolverStatus_t cusolverRfSetupDevice(int n, MORPH_CSR(a), MORPH_CSR(l), MORPH_CSR(u), const int* p, const int* q,
                                       MORPH_HANDLE);
cusolverStatus_t cusolverRfResetValues(int n, MORPH_CSR(a), const int* p, const int* q, MORPH_HANDLE);
cusolverStatus_t cusolverRfAnalyze(MORPH_HANDLE);
cusolverStatus_t cusolverRfRefactor(MORPH_HANDLE);
cusolverStatus_t cusolverRfSolve(MORPH_HANDLE, const int* p, const int* q, int columns, double* work, int ldw,
                                 double* x, int ldx);
}
#undef MORPH_HANDLE
#undef MORPH_CSR
