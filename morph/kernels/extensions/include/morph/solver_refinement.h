// The functions of cuSOLVER that may compute in a lower precision and refine: their numbers are those of their type.
#pragma once

#define MORPH_REFINED(NAME, T)                                                                                        \
  cusolverStatus_t cusolverDn##NAME##gesv(cusolverDnHandle_t handle, int n, int columns, T* a, int lda, int* pivots,   \
                                          T* b, int ldb, T* x, int ldx, void* work, size_t bytes, int* iterations,     \
                                          int* info);                                                                  \
  cusolverStatus_t cusolverDn##NAME##gels(cusolverDnHandle_t handle, int m, int n, int columns, T* a, int lda, T* b,   \
                                          int ldb, T* x, int ldx, void* work, size_t bytes, int* iterations, int* info);

extern "C" {
#include "morph/solver_pairs.h"

cusolverStatus_t cusolverDnIRSParamsCreate(cusolverDnIRSParams_t* params);
cusolverStatus_t cusolverDnIRSParamsDestroy(cusolverDnIRSParams_t params);
cusolverStatus_t cusolverDnIRSParamsSetRefinementSolver(cusolverDnIRSParams_t params, cusolverIRSRefinement_t solver);
cusolverStatus_t cusolverDnIRSParamsSetSolverMainPrecision(cusolverDnIRSParams_t params, cusolverPrecType_t type);
cusolverStatus_t cusolverDnIRSParamsSetSolverLowestPrecision(cusolverDnIRSParams_t params, cusolverPrecType_t type);
cusolverStatus_t cusolverDnIRSParamsSetSolverPrecisions(cusolverDnIRSParams_t params, cusolverPrecType_t main,
                                                        cusolverPrecType_t lowest);
cusolverStatus_t cusolverDnIRSParamsSetTol(cusolverDnIRSParams_t params, double tolerance);
cusolverStatus_t cusolverDnIRSParamsSetTolInner(cusolverDnIRSParams_t params, double tolerance);
cusolverStatus_t cusolverDnIRSParamsSetMaxIters(cusolverDnIRSParams_t params, int iterations);
cusolverStatus_t cusolverDnIRSParamsSetMaxItersInner(cusolverDnIRSParams_t params, int iterations);
cusolverStatus_t cusolverDnIRSParamsGetMaxIters(cusolverDnIRSParams_t params, int* iterations);
cusolverStatus_t cusolverDnIRSParamsEnableFallback(cusolverDnIRSParams_t params);
cusolverStatus_t cusolverDnIRSParamsDisableFallback(cusolverDnIRSParams_t params);
cusolverStatus_t cusolverDnIRSInfosCreate(cusolverDnIRSInfos_t* infos);
cusolverStatus_t cusolverDnIRSInfosDestroy(cusolverDnIRSInfos_t infos);
cusolverStatus_t cusolverDnIRSInfosGetNiters(cusolverDnIRSInfos_t infos, int* iterations);
cusolverStatus_t cusolverDnIRSInfosGetOuterNiters(cusolverDnIRSInfos_t infos, int* iterations);
cusolverStatus_t cusolverDnIRSXgesv(cusolverDnHandle_t handle, cusolverDnIRSParams_t params, cusolverDnIRSInfos_t infos,
                                    int n, int columns, void* a, int lda, void* b, int ldb, void* x, int ldx,
                                    void* work, size_t bytes, int* iterations, int* info);
cusolverStatus_t cusolverDnIRSXgels(cusolverDnHandle_t handle, cusolverDnIRSParams_t params, cusolverDnIRSInfos_t infos,
                                    int m, int n, int columns, void* a, int lda, void* b, int ldb, void* x, int ldx,
                                    void* work, size_t bytes, int* iterations, int* info);
}
#undef MORPH_REFINED
