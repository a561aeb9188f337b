// cuSPARSE's conversions between formats, and its sorts.
#include "sparse.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/nonzero.h>

namespace morph_cuda::sparse {
namespace {

cusparseStatus_t checked(cusparseConstDnMatDescr_t dense, cusparseConstSpMatDescr_t sparse) {
  if (!dense || !sparse || dense->rows != sparse->height() || dense->columns != sparse->width())
    return CUSPARSE_STATUS_INVALID_VALUE;
  bool is_served =
      dense->numbers.type == sparse->numbers.type && blas::torchs(dense->numbers.type) != c10::ScalarType::Undefined;
  return is_served ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_NOT_SUPPORTED;
}

// What is not 0, in the order of the format.
Entries found(const at::Tensor& dense, cusparseFormat_t format) {
  bool by_columns = format == CUSPARSE_FORMAT_CSC;
  at::Tensor places = at::nonzero(by_columns ? dense.t() : dense);
  at::Tensor rows = places.select(1, by_columns), columns = places.select(1, !by_columns);
  return {rows, columns, dense.index({rows, columns})};
}

struct Ints {
  at::Tensor tensor;
  Ints(const int* data, int64_t n, bool writes = false) : tensor(memory(data, c10::kInt, {n}, {1}, writes)) {}
  at::Tensor read(int base = 0) const { return tensor.to(c10::kLong) - base; }
};

cusparseStatus_t sort(Caller by, int m, int n, int nnz, int* first, int* second, int* permutation) {
  return answered(by, m >= 0 && n >= 0 && nnz >= 0 && first && second, [&] {
    Ints rows(first, nnz, true), columns(second, nnz, true);
    at::Tensor order = at::argsort(rows.read() * std::max(m, n) + columns.read(), /*stable=*/true);
    for (int* each : {first, second, permutation}) {
      if (!each) continue;
      at::Tensor held = Ints(each, nnz, true).tensor;
      held.copy_(held.index({order}));
    }
  });
}

template <class T>
cusparseStatus_t count(Caller by, cusparseDirection_t direction, int m, int n, const T* a, int lda, int* counts,
                       int* total) {
  return answered(by, m >= 0 && n >= 0 && lda >= m && a && counts && total, [&] {
    bool by_rows = direction == CUSPARSE_DIRECTION_ROW;
    at::Tensor held = memory(a, kTypeOf<T>, {m, n}, {1, lda}).ne(0).sum(by_rows ? 1 : 0);
    Ints(counts, by_rows ? m : n, true).tensor.copy_(held);
    Ints(total, 1, true).tensor.copy_(held.sum());
  });
}

}  // namespace
}  // namespace morph_cuda::sparse

using namespace morph_cuda::sparse;

extern "C" {

cusparseStatus_t cusparseSparseToDense_bufferSize(cusparseHandle_t handle, cusparseConstSpMatDescr_t a,
                                                  cusparseDnMatDescr_t b, cusparseSparseToDenseAlg_t, size_t* bytes) {
  return sized(handle, checked(b, a), bytes);
}
cusparseStatus_t cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t a, cusparseDnMatDescr_t b,
                                       cusparseSparseToDenseAlg_t, void*) {
  return answered(handle, checked(b, a), [&] {
    Entries entries = a->entries();
    b->values(0, true).zero_().index_put_({entries.rows, entries.columns}, entries.values);
  });
}
cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                  cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t, size_t* bytes) {
  return sized(handle, checked(a, b), bytes);
}
// The offsets of b, and how many numbers it will hold; of blocks the program gives the places.
cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t, void*) {
  return answered(handle, checked(a, b), [&] {
    if (!b->is_compressed() && b->format != CUSPARSE_FORMAT_COO) return;
    Entries entries = found(a->values(), b->format);
    b->nnz = entries.rows.numel();
    if (b->format == CUSPARSE_FORMAT_CSR) b->outer.write(offsets_of(entries.rows, b->rows));
    if (b->format == CUSPARSE_FORMAT_CSC) b->outer.write(offsets_of(entries.columns, b->columns));
  });
}
cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                               cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t, void*) {
  return answered(handle, checked(a, b), [&] {
    if (b->is_compressed() || b->format == CUSPARSE_FORMAT_COO) return b->write(found(a->values(), b->format));
    Entries places = b->stored();
    at::Tensor taken = a->values().index({places.rows, places.columns.clamp_min(0)}).masked_fill(places.columns < 0, 0);
    b->values(taken.numel(), 0, true).copy_(taken);
  });
}

cusparseStatus_t cusparseCreateIdentityPermutation(cusparseHandle_t handle, int n, int* permutation) {
  return answered(handle, n >= 0 && permutation, [&] { Ints(permutation, n, true).tensor.copy_(at::arange(n)); });
}
cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t handle, const int* rows, int nnz, int m, int* offsets,
                                  cusparseIndexBase_t base) {
  return answered(handle, nnz >= 0 && m >= 0 && rows && offsets, [&] {
    Ints(offsets, m + 1, true).tensor.copy_(offsets_of(Ints(rows, nnz).read(int(base)), m) + int(base));
  });
}
cusparseStatus_t cusparseXcsr2coo(cusparseHandle_t handle, const int* offsets, int nnz, int m, int* rows,
                                  cusparseIndexBase_t base) {
  return answered(handle, nnz >= 0 && m >= 0 && rows && offsets, [&] {
    Ints(rows, nnz, true).tensor.copy_(rows_of(Ints(offsets, m + 1).read()) + int(base));
  });
}
cusparseStatus_t cusparseXcoosort_bufferSizeExt(cusparseHandle_t handle, int, int, int, const int*, const int*,
                                                size_t* bytes) {
  return sized(handle, CUSPARSE_STATUS_SUCCESS, bytes);
}
cusparseStatus_t cusparseXcoosortByRow(cusparseHandle_t handle, int m, int n, int nnz, int* rows, int* columns,
                                       int* permutation, void*) {
  return sort(handle, m, n, nnz, rows, columns, permutation);
}
cusparseStatus_t cusparseXcoosortByColumn(cusparseHandle_t handle, int m, int n, int nnz, int* rows, int* columns,
                                          int* permutation, void*) {
  return sort(handle, m, n, nnz, columns, rows, permutation);
}
cusparseStatus_t cusparseXcsrsort_bufferSizeExt(cusparseHandle_t handle, int, int, int, const int*, const int*,
                                                size_t* bytes) {
  return sized(handle, CUSPARSE_STATUS_SUCCESS, bytes);
}
cusparseStatus_t cusparseXcsrsort(cusparseHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t descr,
                                  const int* offsets, int* columns, int* permutation, void*) {
  return answered(handle, m >= 0 && n >= 0 && nnz >= 0 && descr && offsets && columns, [&] {
    at::Tensor rows = rows_of(Ints(offsets, m + 1).read()), held = Ints(columns, nnz, true).tensor;
    at::Tensor order = at::argsort(rows * (n + 1) + held, /*stable=*/true);
    held.copy_(held.index({order}));
    if (!permutation) return;
    at::Tensor all = Ints(permutation, nnz, true).tensor;
    all.copy_(all.index({order}));
  });
}
cusparseStatus_t cusparseXcscsort_bufferSizeExt(cusparseHandle_t handle, int, int, int, const int*, const int*,
                                                size_t* bytes) {
  return sized(handle, CUSPARSE_STATUS_SUCCESS, bytes);
}
cusparseStatus_t cusparseXcscsort(cusparseHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t descr,
                                  const int* offsets, int* rows, int* permutation, void* buffer) {
  return cusparseXcsrsort(handle, n, m, nnz, descr, offsets, rows, permutation, buffer);
}
cusparseStatus_t cusparseCsr2cscEx2_bufferSize(MORPH_CSR2CSC, size_t* bytes) {
  return sized(handle, CUSPARSE_STATUS_SUCCESS, bytes);
}
cusparseStatus_t cusparseCsr2cscEx2(MORPH_CSR2CSC, void*) {
  if (blas::torchs(numbers) == c10::ScalarType::Undefined) return CUSPARSE_STATUS_NOT_SUPPORTED;
  return answered(handle, m >= 0 && n >= 0 && nnz >= 0 && offsets && columns && csc_offsets && csc_rows, [&] {
    at::Tensor rows = rows_of(Ints(offsets, m + 1).read()), at_column = Ints(columns, nnz).read(int(base));
    at::Tensor order = at::argsort(at_column, /*stable=*/true);
    Ints(csc_offsets, n + 1, true).tensor.copy_(offsets_of(at_column, n) + int(base));
    Ints(csc_rows, nnz, true).tensor.copy_(rows.index({order}) + int(base));
    if (action == CUSPARSE_ACTION_SYMBOLIC) return;
    at::Tensor all = memory(values, blas::torchs(numbers), {nnz}, {1});
    memory(csc_values, all.scalar_type(), {nnz}, {1}, true).copy_(all.index({order}));
  });
}

#define MORPH_COUNT(LETTER, T)                                                                                     \
  cusparseStatus_t cusparse##LETTER##nnz(cusparseHandle_t handle, cusparseDirection_t direction, int m, int n,     \
                                         const cusparseMatDescr_t, const T* a, int lda, int* counts, int* total) { \
    return count(handle, direction, m, n, a, lda, counts, total);                                                  \
  }
MORPH_COUNT(S, float)
MORPH_COUNT(D, double)
MORPH_COUNT(C, cuComplex)
MORPH_COUNT(Z, cuDoubleComplex)
#undef MORPH_COUNT
}
