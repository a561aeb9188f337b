// cuSOLVER's refactorization: P A Q^T as L by U without exchanges, which P and Q have made needless. What L and U were
// before is not looked at: there is one such pair.
#include "morph/solver_refactor.h"
#include "solver_sparse.h"

namespace morph_cuda::solver {
namespace {

struct Unpivoted {
  std::vector<std::vector<std::pair<int64_t, double>>> lower;
  Triangle<double> upper;
  bool is_boosted = false;

  Unpivoted() = default;
  Unpivoted(const Rows<double>& a, double zero, double boost) : upper(a.columns) {
    Work<double> work(a.columns);
    Budget budget;
    for (int64_t i = 0; i < a.count(); i++) {
      work.load(a, i);
      lower.push_back(eliminate(work, i));
      work.from = std::min(work.from, i), work.end = std::max(work.end, i + 1);
      double& pivot = work.values[i];
      if (boost > 0 && std::abs(pivot) < zero) pivot = pivot < 0 ? -boost : boost, is_boosted = true;
      bool is_zero = pivot == 0;
      upper.rows[i] = work.take(i);
      if (is_zero) upper.rows[i].clear();
      budget.spend(int64_t(upper.rows[i].size() + 2 * lower.back().size()));
    }
  }
  std::vector<double> solve(std::vector<double> x) const {
    for (size_t i = 0; i < lower.size(); i++)
      for (auto [column, value] : lower[i]) x[i] -= value * x[column];
    return upper.solve(std::move(x));
  }

 private:
  std::vector<std::pair<int64_t, double>> eliminate(Work<double>& work, int64_t i) const {
    std::vector<std::pair<int64_t, double>> line;
    for (int64_t k = work.from; k < std::min(work.end, i); k++) {
      const std::vector<double>& row = upper.rows[k];
      if (work.values[k] == 0 || row.empty()) continue;
      double by = work.values[k] / row[0];
      line.push_back({k, by});
      for (size_t j = 0; j < row.size(); j++) work.values[k + j] -= by * row[j];
      work.end = std::max(work.end, k + int64_t(row.size())), work.values[k] = 0;
    }
    return line;
  }
};

}  // namespace
}  // namespace morph_cuda::solver

using namespace morph_cuda::solver;

struct cusolverRfCommon {
  cudaStream_t stream = nullptr;
  cusolverRfMatrixFormat_t format = CUSOLVERRF_MATRIX_FORMAT_CSR;
  cusolverRfUnitDiagonal_t diagonal = CUSOLVERRF_UNIT_DIAGONAL_STORED_L;
  double zero = 0, boost = 0;
  cusolverRfFactorization_t factorization = CUSOLVERRF_FACTORIZATION_ALG0;
  cusolverRfTriangularSolve_t solution = CUSOLVERRF_TRIANGULAR_SOLVE_ALG1;
  cusolverRfResetValuesFastMode_t mode = CUSOLVERRF_RESET_VALUES_FAST_MODE_OFF;
  std::optional<Rows<double>> matrix;  // in the order of P and Q
  std::optional<Unpivoted> factors;
};

namespace morph_cuda::solver {
namespace {

template <class F>
cusolverStatus_t refactoring(cusolverRfHandle_t handle, bool is_valid, F work, const char* name = __builtin_FUNCTION()) {
  if (!handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (!is_valid) return CUSOLVER_STATUS_INVALID_VALUE;
  Statuses statuses{CUSOLVER_STATUS_ALLOC_FAILED, CUSOLVER_STATUS_EXECUTION_FAILED};
  return cusolverStatus_t(status_of(name, handle->stream, statuses, work));
}

Rows<double> transposed(const Rows<double>& a) {
  std::vector<std::vector<std::pair<int64_t, double>>> columns(a.columns);
  for (int64_t i = 0; i < a.count(); i++)
    a.each(i, [&](int64_t column, double value) { columns[column].push_back({i, value}); });
  Rows<double> found{a.count()};
  for (auto& column : columns) {
    for (auto [row, value] : column) found.add(row, value);
    found.end_row();
  }
  return found;
}

cusolverStatus_t reset(cusolverRfHandle_t handle, int n, int nnz, const int* offsets, const int* columns,
                       const double* values, const int* p, const int* q, const char* name) {
  cusparseMatDescr descr;
  Csr<double> a{n, n, nnz, &descr, values, offsets, columns};
  return refactoring(handle, !a.checked(p && q), [&] {
    Rows<double> rows = a.read();
    if (handle->format == CUSOLVERRF_MATRIX_FORMAT_CSC) rows = transposed(rows);
    handle->matrix = permuted(rows, order_of(p, n), order_of(q, n));
    handle->factors.reset();
  }, name);
}

}  // namespace
}  // namespace morph_cuda::solver

#define MORPH_HANDLE cusolverRfHandle_t handle
#define MORPH_CSR(X) int nnz_##X, const int *offsets_##X, const int *columns_##X, const double *values_##X
#define MORPH_RF(NAME) NAME(int n, MORPH_CSR(a), MORPH_CSR(l), MORPH_CSR(u), const int* p, const int* q, MORPH_HANDLE)

extern "C" {

cusolverStatus_t cusolverRfCreate(cusolverRfHandle_t* handle) { return made(handle); }
cusolverStatus_t cusolverRfDestroy(MORPH_HANDLE) {
  return handle ? destroyed(handle) : CUSOLVER_STATUS_NOT_INITIALIZED;
}
cusolverStatus_t cusolverRfGetMatrixFormat(MORPH_HANDLE, cusolverRfMatrixFormat_t* format,
                                           cusolverRfUnitDiagonal_t* diagonal) {
  return refactoring(handle, format && diagonal, [&] { *format = handle->format, *diagonal = handle->diagonal; });
}
cusolverStatus_t cusolverRfSetMatrixFormat(MORPH_HANDLE, cusolverRfMatrixFormat_t format,
                                           cusolverRfUnitDiagonal_t diagonal) {
  return refactoring(handle, true, [&] { handle->format = format, handle->diagonal = diagonal; });
}
cusolverStatus_t cusolverRfSetNumericProperties(MORPH_HANDLE, double zero, double boost) {
  return refactoring(handle, true, [&] { handle->zero = zero, handle->boost = boost; });
}
cusolverStatus_t cusolverRfGetNumericProperties(MORPH_HANDLE, double* zero, double* boost) {
  return refactoring(handle, zero && boost, [&] { *zero = handle->zero, *boost = handle->boost; });
}
cusolverStatus_t cusolverRfGetNumericBoostReport(MORPH_HANDLE, cusolverRfNumericBoostReport_t* report) {
  return refactoring(handle, report && handle && handle->factors, [&] {
    *report = handle->factors->is_boosted ? CUSOLVERRF_NUMERIC_BOOST_USED : CUSOLVERRF_NUMERIC_BOOST_NOT_USED;
  });
}
cusolverStatus_t cusolverRfSetAlgs(MORPH_HANDLE, cusolverRfFactorization_t factors, cusolverRfTriangularSolve_t solves) {
  return refactoring(handle, true, [&] { handle->factorization = factors, handle->solution = solves; });
}
cusolverStatus_t cusolverRfGetAlgs(MORPH_HANDLE, cusolverRfFactorization_t* factors,
                                   cusolverRfTriangularSolve_t* solves) {
  return refactoring(handle, factors && solves,
                     [&] { *factors = handle->factorization, *solves = handle->solution; });
}
cusolverStatus_t cusolverRfGetResetValuesFastMode(MORPH_HANDLE, cusolverRfResetValuesFastMode_t* mode) {
  return refactoring(handle, mode, [&] { *mode = handle->mode; });
}
cusolverStatus_t cusolverRfSetResetValuesFastMode(MORPH_HANDLE, cusolverRfResetValuesFastMode_t mode) {
  return refactoring(handle, true, [&] { handle->mode = mode; });
}
cusolverStatus_t MORPH_RF(cusolverRfSetupHost) {
  return reset(handle, n, nnz_a, offsets_a, columns_a, values_a, p, q, __func__);
}
cusolverStatus_t MORPH_RF(cusolverRfSetupDevice) {
  return reset(handle, n, nnz_a, offsets_a, columns_a, values_a, p, q, __func__);
}
cusolverStatus_t cusolverRfResetValues(int n, MORPH_CSR(a), const int* p, const int* q, MORPH_HANDLE) {
  return reset(handle, n, nnz_a, offsets_a, columns_a, values_a, p, q, __func__);
}
cusolverStatus_t cusolverRfAnalyze(MORPH_HANDLE) {
  return refactoring(handle, handle && handle->matrix, [] {});
}
cusolverStatus_t cusolverRfRefactor(MORPH_HANDLE) {
  cusolverStatus_t status = refactoring(handle, handle && handle->matrix, [&] {
    handle->factors.emplace(*handle->matrix, handle->zero, handle->boost);
  });
  return status || handle->factors->upper.is_complete() ? status : CUSOLVER_STATUS_ZERO_PIVOT;
}
cusolverStatus_t cusolverRfSolve(MORPH_HANDLE, const int* p, const int* q, int columns, double*, int, double* x,
                                 int ldx) {
  bool is_ready = handle && handle->factors && handle->factors->upper.is_complete();
  int64_t n = is_ready ? handle->matrix->columns : 0;
  return refactoring(handle, is_ready && p && q && x && columns > 0 && ldx >= n, [&] {
    std::vector<int64_t> rows = order_of(p, n), order = order_of(q, n);
    for (int64_t i = 0; i < columns; i++) {
      double* column = used(x + i * ldx, size_t(n), true);
      std::vector<double> right;
      for (int64_t row : rows) right.push_back(column[row]);
      right = handle->factors->solve(std::move(right));
      for (int64_t k = 0; k < n; k++) column[order[k]] = right[k];
    }
  });
}
}
#undef MORPH_HANDLE
#undef MORPH_CSR
#undef MORPH_RF
