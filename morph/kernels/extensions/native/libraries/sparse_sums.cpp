// cuSPARSE's sums of two matrices of CSR.
#include "sparse.h"

#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>

namespace morph_cuda::sparse {
namespace {

struct Part {
  cusparseMatDescr_t descr;
  const int *offsets, *columns;

  bool is_valid() const { return descr && offsets && columns; }
  at::Tensor rows(int m) const { return rows_of(memory(offsets, c10::kInt, {m + 1}, {1}).to(c10::kLong)); }
  at::Tensor at_columns(int64_t n) const {
    return memory(columns, c10::kInt, {n}, {1}).to(c10::kLong) - int64_t(descr->base);
  }
};

// Both parts' numbers, where both have one their sum, in order.
Entries sum(int m, int n, const Part& a, const at::Tensor& of_a, const Part& b, const at::Tensor& of_b) {
  at::Tensor rows = at::cat({a.rows(m), b.rows(m)}), columns = at::cat({a.at_columns(of_a.numel()), b.at_columns(of_b.numel())});
  at::Tensor sums = at::_sparse_coo_tensor_unsafe(at::stack({rows, columns}), at::cat({of_a, of_b}), {m, n}).coalesce();
  return {sums.indices()[0], sums.indices()[1], sums.values()};
}

void write(const at::Tensor& values, int* data) { memory(data, c10::kInt, {values.numel()}, {1}, true).copy_(values); }

template <class T>
cusparseStatus_t add(Caller by, int m, int n, const T* alpha, const Part& a, int of_a, const T* values_a, const T* beta,
                     const Part& b, int of_b, const T* values_b, cusparseMatDescr_t descr, T* values, int* offsets,
                     int* columns) {
  bool is_valid = m >= 0 && n >= 0 && alpha && beta && a.is_valid() && b.is_valid() && descr && offsets;
  return answered(by, is_valid, [&] {
    at::Tensor left = memory(values_a, kTypeOf<T>, {of_a}, {1}) * scalar<T>(alpha);
    at::Tensor right = memory(values_b, kTypeOf<T>, {of_b}, {1}) * scalar<T>(beta);
    Entries result = sum(m, n, a, left, b, right);
    write(offsets_of(result.rows, m) + int64_t(descr->base), offsets);
    write(result.columns + int64_t(descr->base), columns);
    memory(values, kTypeOf<T>, {result.values.numel()}, {1}, true).copy_(result.values);
  });
}

}  // namespace
}  // namespace morph_cuda::sparse

using namespace morph_cuda::sparse;

extern "C" {

cusparseStatus_t cusparseXcsrgeam2Nnz(MORPH_CSRGEAM_STRUCTURE, void*) {
  Part a{descr_a, offsets_a, columns_a}, b{descr_b, offsets_b, columns_b};
  bool is_valid = m >= 0 && n >= 0 && a.is_valid() && b.is_valid() && descr_c && offsets_c && total;
  return answered(handle, is_valid, [&] {
    Entries result = sum(m, n, a, at::ones({nnz_a}), b, at::ones({nnz_b}));
    write(offsets_of(result.rows, m) + int64_t(descr_c->base), offsets_c);
    *used(total, 1, true) = int(result.rows.numel());
  });
}
#define MORPH_SUM(LETTER, T)                                                                                           \
  cusparseStatus_t cusparse##LETTER##csrgeam2_bufferSizeExt(MORPH_CSRGEAM(T), const T*, const int*, const int*,        \
                                                            size_t* bytes) {                                           \
    return sized(handle, CUSPARSE_STATUS_SUCCESS, bytes);                                                              \
  }                                                                                                                    \
  cusparseStatus_t cusparse##LETTER##csrgeam2(MORPH_CSRGEAM(T), T* values_c, int* offsets_c, int* columns_c, void*) {  \
    return add(handle, m, n, alpha, {descr_a, offsets_a, columns_a}, nnz_a, values_a, beta,                            \
               {descr_b, offsets_b, columns_b}, nnz_b, values_b, descr_c, values_c, offsets_c, columns_c);             \
  }
MORPH_SUM(S, float)
MORPH_SUM(D, double)
MORPH_SUM(C, cuComplex)
MORPH_SUM(Z, cuDoubleComplex)
#undef MORPH_SUM
}
