// cuSPARSE's triangular systems, and its incomplete factors.
#include "sparse.h"

#include <ATen/Dispatch.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <vector>

struct cusparseSpSVDescr {};
struct cusparseSpSMDescr {};
struct morph_csrInfo {
  int zero_pivot = -1;
};

namespace morph_cuda::sparse {
namespace {

// A triangle in rows; the diagonal's numbers apart, 0 where there are none.
struct Triangle {
  at::Tensor offsets, columns, values, diagonal;
  bool is_lower;
};

Triangle triangle(const cusparseSpMatDescr& matrix, cusparseOperation_t op, c10::ScalarType type) {
  bool is_lower = (matrix.fill == CUSPARSE_FILL_MODE_LOWER) != is_transposed(op);
  Entries all = ordered(matrix.entries().in(type).under(op), matrix.rows);
  at::Tensor on = all.rows == all.columns, strict = is_lower ? all.columns < all.rows : all.columns > all.rows;
  at::Tensor diagonal =
      matrix.diagonal == CUSPARSE_DIAG_TYPE_UNIT ? at::ones({matrix.rows}, type) : at::zeros({matrix.rows}, type);
  if (matrix.diagonal != CUSPARSE_DIAG_TYPE_UNIT) diagonal.index_put_({all.rows.index({on})}, all.values.index({on}));
  at::Tensor rows = all.rows.index({strict});
  return {offsets_of(rows, matrix.rows), all.columns.index({strict}), all.values.index({strict}).resolve_conj(),
          diagonal, is_lower};
}

// Solves for all columns of x, which holds the right sides.
template <class T>
void substitute(const Triangle& of, at::Tensor& x) {
  int64_t n = x.size(0), width = x.size(1);
  const int64_t *offsets = of.offsets.const_data_ptr<int64_t>(), *columns = of.columns.const_data_ptr<int64_t>();
  const T *values = of.values.const_data_ptr<T>(), *diagonal = of.diagonal.const_data_ptr<T>();
  T* all = x.mutable_data_ptr<T>();
  for (int64_t turn = 0; turn < n; turn++) {
    int64_t i = of.is_lower ? turn : n - 1 - turn;
    for (int64_t at = offsets[i]; at < offsets[i + 1]; at++)
      for (int64_t j = 0; j < width; j++) all[i * width + j] -= values[at] * all[columns[at] * width + j];
    for (int64_t j = 0; j < width; j++) all[i * width + j] /= diagonal[i];
  }
}

at::Tensor solved(const cusparseSpMatDescr& a, cusparseOperation_t op, at::Tensor right) {
  Triangle of = triangle(a, op, right.scalar_type());
  right = right.contiguous();
  AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(right.scalar_type(), "triangle", [&] { substitute<scalar_t>(of, right); });
  return right;
}

cusparseStatus_t checked(cusparseConstSpMatDescr_t a, cudaDataType b, cudaDataType c, cudaDataType compute,
                         bool is_valid) {
  if (!is_valid || a->rows != a->columns) return CUSPARSE_STATUS_INVALID_VALUE;
  bool is_served = a->numbers.type == b && b == c && c == compute && compute != CUDA_R_32I &&
                   computing(compute) != c10::ScalarType::Undefined;
  return is_served ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_NOT_SUPPORTED;
}
cusparseStatus_t checked(const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                         cusparseConstDnVecDescr_t y, cudaDataType compute, cusparseSpSVDescr_t descr) {
  if (!alpha || !a || !x || !y || !descr) return CUSPARSE_STATUS_INVALID_VALUE;
  return checked(a, x->numbers.type, y->numbers.type, compute, a->rows == x->size && x->size == y->size);
}
cusparseStatus_t checked(cusparseOperation_t op_b, const void* alpha, cusparseConstSpMatDescr_t a,
                         cusparseConstDnMatDescr_t b, cusparseConstDnMatDescr_t c, cudaDataType compute,
                         cusparseSpSMDescr_t descr) {
  if (!alpha || !a || !b || !c || !descr) return CUSPARSE_STATUS_INVALID_VALUE;
  bool turned = is_transposed(op_b);
  bool fits =
      (turned ? b->columns : b->rows) == c->rows && (turned ? b->rows : b->columns) == c->columns && c->rows == a->rows;
  return checked(a, b->numbers.type, c->numbers.type, compute, fits);
}

// A matrix of CSR whose factors take the place of its numbers.
template <class T>
struct Factored {
  int m;
  const int *offsets, *columns;
  Torchs<T>* values;
  int base;
  std::vector<int> at_column = std::vector<int>(size_t(m), -1);  // where the current row holds it

  Factored(int m, int nnz, const cusparseMatDescr& descr, T* values, const int* offsets, const int* columns)
      : m(m), offsets(used(offsets, size_t(m) + 1, false)), columns(used(columns, size_t(nnz), false)),
        values(reinterpret_cast<Torchs<T>*>(used(values, size_t(nnz), true))), base(int(descr.base)) {}

  int begin(int row) const { return offsets[row] - base; }
  int column(int at) const { return columns[at] - base; }
  void mark(int row, bool here) {
    for (int at = begin(row); at < begin(row + 1); at++) at_column[size_t(column(at))] = here ? at : -1;
  }
  int diagonal(int row) const {
    for (int at = begin(row); at < begin(row + 1); at++)
      if (column(at) == row) return at;
    return -1;
  }
};

// L and U where the matrix has numbers, by rows. Returns the first row whose pivot is 0 or missing.
template <class T>
int lower_and_upper(Factored<T>& of) {
  int zero_pivot = -1;
  for (int i = 0; i < of.m; i++) {
    of.mark(i, true);
    for (int at = of.begin(i); at < of.begin(i + 1) && of.column(at) < i; at++) {
      int k = of.column(at), pivot = of.diagonal(k);
      if (pivot < 0) continue;
      Torchs<T> by = of.values[at] /= of.values[pivot];
      for (int other = of.begin(k); other < of.begin(k + 1); other++) {
        int place = of.at_column[size_t(of.column(other))];
        if (of.column(other) > k && place >= 0) of.values[place] -= by * of.values[other];
      }
    }
    int own = of.diagonal(i);
    if (zero_pivot < 0 && (own < 0 || of.values[own] == Torchs<T>(0))) zero_pivot = i;
    of.mark(i, false);
  }
  return zero_pivot;
}

float conjugate(float x) { return x; }
double conjugate(double x) { return x; }
template <class T>
c10::complex<T> conjugate(c10::complex<T> x) { return std::conj(x); }

// L with the matrix as L by its conjugate transpose, of the lower triangle, whose columns come in order.
template <class T>
int lower(Factored<T>& of) {
  int zero_pivot = -1;
  for (int i = 0; i < of.m; i++) {
    of.mark(i, true);
    for (int at = of.begin(i); at < of.begin(i + 1) && of.column(at) <= i; at++) {
      int j = of.column(at);
      for (int other = of.begin(j); other < of.begin(j + 1) && of.column(other) < j; other++) {
        int place = of.at_column[size_t(of.column(other))];
        if (place >= 0) of.values[at] -= of.values[place] * conjugate(of.values[other]);
      }
      int pivot = of.diagonal(j);
      if (j == i) of.values[at] = std::sqrt(of.values[at]);
      else if (pivot >= 0) of.values[at] /= conjugate(of.values[pivot]);
    }
    int own = of.diagonal(i);
    if (zero_pivot < 0 && (own < 0 || of.values[own] == Torchs<T>(0))) zero_pivot = i;
    of.mark(i, false);
  }
  return zero_pivot;
}

template <class T, class F>
cusparseStatus_t factored(Caller by, int m, int nnz, cusparseMatDescr_t descr, T* values, const int* offsets,
                          const int* columns, morph_csrInfo* info, F work) {
  bool is_valid = m >= 0 && nnz >= 0 && descr && values && offsets && columns && info;
  return answered(by, is_valid, [&] {
    Factored<T> of(m, nnz, *descr, values, offsets, columns);
    info->zero_pivot = work(of);
  });
}

cusparseStatus_t pivot(cusparseHandle_t handle, const morph_csrInfo* info, int* position) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!info || !position) return CUSPARSE_STATUS_INVALID_VALUE;
  *position = info->zero_pivot;
  return *position < 0 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ZERO_PIVOT;
}
template <class D>
cusparseStatus_t created(D** descr) {
  return descr ? (*descr = new D, CUSPARSE_STATUS_SUCCESS) : CUSPARSE_STATUS_INVALID_VALUE;
}

}  // namespace
}  // namespace morph_cuda::sparse

using namespace morph_cuda::sparse;

extern "C" {

cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t* descr) { return created(descr); }
cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t descr) { return delete descr, CUSPARSE_STATUS_SUCCESS; }
cusparseStatus_t cusparseSpSV_bufferSize(MORPH_SPSV, size_t* bytes) {
  return sized(handle, checked(alpha, a, x, y, compute, descr), bytes);
}
cusparseStatus_t cusparseSpSV_analysis(MORPH_SPSV, void*) {
  return answered(handle, checked(alpha, a, x, y, compute, descr), [] {});
}
cusparseStatus_t cusparseSpSV_solve(MORPH_SPSV) {
  return answered(handle, checked(alpha, a, x, y, compute, descr), [&] {
    at::Tensor right = (x->values() * factor(alpha, compute)).unsqueeze(1);
    y->values(true).copy_(solved(*a, op, right).squeeze(1));
  });
}

cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t* descr) { return created(descr); }
cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t descr) { return delete descr, CUSPARSE_STATUS_SUCCESS; }
cusparseStatus_t cusparseSpSM_bufferSize(MORPH_SPSM, size_t* bytes) {
  return sized(handle, checked(op_b, alpha, a, b, c, compute, descr), bytes);
}
cusparseStatus_t cusparseSpSM_analysis(MORPH_SPSM, void*) {
  return answered(handle, checked(op_b, alpha, a, b, c, compute, descr), [] {});
}
cusparseStatus_t cusparseSpSM_solve(MORPH_SPSM) {
  return answered(handle, checked(op_b, alpha, a, b, c, compute, descr), [&] {
    at::Tensor right = applied(b->values(), op_b) * factor(alpha, compute);
    c->values(0, true).copy_(solved(*a, op_a, right));
  });
}

cusparseStatus_t cusparseCreateCsrilu02Info(csrilu02Info_t* info) { return created(info); }
cusparseStatus_t cusparseDestroyCsrilu02Info(csrilu02Info_t info) { return delete info, CUSPARSE_STATUS_SUCCESS; }
cusparseStatus_t cusparseXcsrilu02_zeroPivot(cusparseHandle_t handle, csrilu02Info_t info, int* position) {
  return pivot(handle, info, position);
}
cusparseStatus_t cusparseCreateCsric02Info(csric02Info_t* info) { return created(info); }
cusparseStatus_t cusparseDestroyCsric02Info(csric02Info_t info) { return delete info, CUSPARSE_STATUS_SUCCESS; }
cusparseStatus_t cusparseXcsric02_zeroPivot(cusparseHandle_t handle, csric02Info_t info, int* position) {
  return pivot(handle, info, position);
}
#define MORPH_FACTORED(NAME, T, WORK)                                                                                  \
  cusparseStatus_t NAME##_bufferSize(cusparseHandle_t handle, int, int, const cusparseMatDescr_t descr, T*,            \
                                     const int*, const int*, morph_csrInfo*, int* bytes) {                             \
    return answered(handle, descr && bytes, [&] { *bytes = int(kBuffer); });                                           \
  }                                                                                                                    \
  cusparseStatus_t NAME##_analysis(cusparseHandle_t handle, int m, int nnz, const cusparseMatDescr_t descr, const T*,  \
                                   const int* offsets, const int* columns, morph_csrInfo* info, cusparseSolvePolicy_t, \
                                   void*) {                                                                            \
    return answered(handle, m >= 0 && nnz >= 0 && descr && offsets && columns && info,                                 \
                    [&] { info->zero_pivot = -1; });                                                                   \
  }                                                                                                                    \
  cusparseStatus_t NAME(cusparseHandle_t handle, int m, int nnz, const cusparseMatDescr_t descr, T* values,            \
                        const int* offsets, const int* columns, morph_csrInfo* info, cusparseSolvePolicy_t, void*) {   \
    return factored(handle, m, nnz, descr, values, offsets, columns, info, WORK<T>);                                   \
  }
#define MORPH_OF_TYPE(LETTER, T)                                         \
  MORPH_FACTORED(cusparse##LETTER##csrilu02, T, lower_and_upper)         \
  MORPH_FACTORED(cusparse##LETTER##csric02, T, lower)
MORPH_OF_TYPE(S, float)
MORPH_OF_TYPE(D, double)
MORPH_OF_TYPE(C, cuComplex)
MORPH_OF_TYPE(Z, cuDoubleComplex)
#undef MORPH_OF_TYPE
#undef MORPH_FACTORED
}
