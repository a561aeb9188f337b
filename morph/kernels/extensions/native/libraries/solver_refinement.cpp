// cuSOLVER's solvers that refine what a lower precision made. Here the numbers' own type is computed in.
#include "solver.h"

#include <ATen/ops/linalg_lu_factor_ex.h>
#include <ATen/ops/linalg_lu_solve.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/linalg_solve_triangular.h>

struct cusolverDnIRSParams {
  cusolverIRSRefinement_t solver = CUSOLVER_IRS_REFINE_NOT_SET;
  int main = 0, lowest = 0, iterations = 50;
};
struct cusolverDnIRSInfos {};

namespace morph_cuda::solver {
namespace {

// No iteration refines what is as exact as it can be, and A stays.
cusolverStatus_t gesv(Caller by, int64_t n, int64_t columns, Matrix a, int* pivots, Matrix b, Matrix x, int* iterations,
                      int* info) {
  bool is_valid = a.is_valid(n, n) && b.is_valid(n, columns) && x.is_valid(n, columns) && iterations && info;
  return answered(by, is_valid, [&] {
    auto [factors, rows, found] = at::linalg_lu_factor_ex(a.tensor(n, n));
    tell(info, found.item<int>());
    *iterations = 0;
    if (pivots) blas::store(rows, pivots, at::kInt, n, 1);
    if (!found.item<int>()) x.tensor(n, columns).copy_(at::linalg_lu_solve(factors, rows, b.tensor(n, columns)));
  });
}

cusolverStatus_t gels(Caller by, int64_t m, int64_t n, int64_t columns, Matrix a, Matrix b, Matrix x, int* iterations,
                      int* info) {
  bool is_valid = m >= n && n >= 0 && a.is_valid(m, n) && b.is_valid(m, columns) && x.is_valid(n, columns);
  return answered(by, is_valid && iterations && info, [&] {
    auto [q, r] = at::linalg_qr(a.tensor(m, n));
    int64_t zero = lu::first_zero(r);
    tell(info, zero);
    *iterations = 0;
    at::Tensor right = q.mH().matmul(b.tensor(m, columns));
    if (!zero) x.tensor(n, columns).copy_(at::linalg_solve_triangular(r, right, true));
  });
}

c10::ScalarType type_of(int precision) {
  switch (precision) {
    case CUSOLVER_R_32F: return c10::kFloat;
    case CUSOLVER_R_64F: return c10::kDouble;
    case CUSOLVER_C_32F: return c10::kComplexFloat;
    case CUSOLVER_C_64F: return c10::kComplexDouble;
    default: return c10::ScalarType::Undefined;
  }
}
bool is_complex(int precision) { return precision >= CUSOLVER_C_8I; }

cusolverStatus_t checked(const cusolverDnIRSParams* params, const cusolverDnIRSInfos* infos) {
  if (!params) return CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED;
  if (!infos) return CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED;
  bool is_precision = params->lowest && is_complex(params->main) == is_complex(params->lowest);
  if (!is_served(type_of(params->main)) || !is_precision) return CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC;
  if (params->solver == CUSOLVER_IRS_REFINE_NOT_SET) return CUSOLVER_STATUS_IRS_PARAMS_INVALID_REFINE;
  return CUSOLVER_STATUS_SUCCESS;
}

template <class F>
cusolverStatus_t with(cusolverDnIRSParams_t params, F work) {
  if (!params) return CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED;
  return work(*params), CUSOLVER_STATUS_SUCCESS;
}

}  // namespace
}  // namespace morph_cuda::solver

using namespace morph_cuda::solver;
using morph_cuda::blas::written;

#define MORPH_HANDLE cusolverDnHandle_t handle
#define MORPH_PARAMS cusolverDnIRSParams_t params
#define MORPH_REFINED(NAME, T)                                                                                        \
  cusolverStatus_t cusolverDn##NAME##gesv(MORPH_HANDLE, int n, int columns, T* a, int lda, int* pivots, T* b, int ldb, \
                                          T* x, int ldx, void*, size_t, int* iterations, int* info) {                  \
    return gesv(handle, n, columns, matrix(a, lda), pivots, matrix(b, ldb), matrix(x, ldx), iterations, info);         \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##NAME##gels(MORPH_HANDLE, int m, int n, int columns, T* a, int lda, T* b, int ldb, T* x, \
                                          int ldx, void*, size_t, int* iterations, int* info) {                        \
    return gels(handle, m, n, columns, matrix(a, lda), matrix(b, ldb), matrix(x, ldx), iterations, info);              \
  }

extern "C" {
#include "morph/solver_pairs.h"

cusolverStatus_t cusolverDnIRSParamsCreate(cusolverDnIRSParams_t* params) {
  if (!params) return CUSOLVER_STATUS_INVALID_VALUE;
  return *params = new cusolverDnIRSParams, CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnIRSParamsDestroy(MORPH_PARAMS) {
  return with(params, [](auto& of) { delete &of; });
}
cusolverStatus_t cusolverDnIRSParamsSetRefinementSolver(MORPH_PARAMS, cusolverIRSRefinement_t solver) {
  return with(params, [&](auto& of) { of.solver = solver; });
}
cusolverStatus_t cusolverDnIRSParamsSetSolverMainPrecision(MORPH_PARAMS, cusolverPrecType_t type) {
  return with(params, [&](auto& of) { of.main = type; });
}
cusolverStatus_t cusolverDnIRSParamsSetSolverLowestPrecision(MORPH_PARAMS, cusolverPrecType_t type) {
  return with(params, [&](auto& of) { of.lowest = type; });
}
cusolverStatus_t cusolverDnIRSParamsSetSolverPrecisions(MORPH_PARAMS, cusolverPrecType_t main,
                                                        cusolverPrecType_t lowest) {
  return with(params, [&](auto& of) { of.main = main, of.lowest = lowest; });
}
cusolverStatus_t cusolverDnIRSParamsSetTol(MORPH_PARAMS, double) {
  return with(params, [](auto&) {});
}
cusolverStatus_t cusolverDnIRSParamsSetTolInner(MORPH_PARAMS, double) {
  return with(params, [](auto&) {});
}
cusolverStatus_t cusolverDnIRSParamsSetMaxIters(MORPH_PARAMS, int iterations) {
  return with(params, [&](auto& of) { of.iterations = iterations; });
}
cusolverStatus_t cusolverDnIRSParamsSetMaxItersInner(MORPH_PARAMS, int) {
  return with(params, [](auto&) {});
}
cusolverStatus_t cusolverDnIRSParamsGetMaxIters(MORPH_PARAMS, int* iterations) {
  return iterations ? with(params, [&](auto& of) { *iterations = of.iterations; }) : CUSOLVER_STATUS_INVALID_VALUE;
}
cusolverStatus_t cusolverDnIRSParamsEnableFallback(MORPH_PARAMS) {
  return with(params, [](auto&) {});
}
cusolverStatus_t cusolverDnIRSParamsDisableFallback(MORPH_PARAMS) {
  return with(params, [](auto&) {});
}
cusolverStatus_t cusolverDnIRSInfosCreate(cusolverDnIRSInfos_t* infos) {
  if (!infos) return CUSOLVER_STATUS_INVALID_VALUE;
  return *infos = new cusolverDnIRSInfos, CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnIRSInfosDestroy(cusolverDnIRSInfos_t infos) {
  if (!infos) return CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED;
  return delete infos, CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnIRSInfosGetNiters(cusolverDnIRSInfos_t infos, int* iterations) {
  if (!infos) return CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED;
  return iterations ? (*iterations = 0, CUSOLVER_STATUS_SUCCESS) : CUSOLVER_STATUS_INVALID_VALUE;
}
cusolverStatus_t cusolverDnIRSInfosGetOuterNiters(cusolverDnIRSInfos_t infos, int* iterations) {
  return cusolverDnIRSInfosGetNiters(infos, iterations);
}

cusolverStatus_t cusolverDnIRSXgesv(MORPH_HANDLE, MORPH_PARAMS, cusolverDnIRSInfos_t infos, int n, int columns, void* a,
                                    int lda, void* b, int ldb, void* x, int ldx, void*, size_t, int* iterations,
                                    int* info) {
  if (cusolverStatus_t status = checked(params, infos)) return status;
  auto type = type_of(params->main);
  return gesv(handle, n, columns, written(a, type, lda), nullptr, written(b, type, ldb), written(x, type, ldx),
              iterations, info);
}
cusolverStatus_t cusolverDnIRSXgels(MORPH_HANDLE, MORPH_PARAMS, cusolverDnIRSInfos_t infos, int m, int n, int columns,
                                    void* a, int lda, void* b, int ldb, void* x, int ldx, void*, size_t,
                                    int* iterations, int* info) {
  if (cusolverStatus_t status = checked(params, infos)) return status;
  auto type = type_of(params->main);
  return gels(handle, m, n, columns, written(a, type, lda), written(b, type, ldb), written(x, type, ldx), iterations,
              info);
}
}
#undef MORPH_HANDLE
#undef MORPH_PARAMS
#undef MORPH_REFINED
