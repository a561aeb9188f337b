// What lies behind cuSPARSE's descriptors.
#include "sparse.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/zeros.h>

#include <array>

namespace morph_cuda::sparse {

at::Tensor Indices::memory(int64_t n, int64_t from, bool writes) const {
  bool is_wide = type == CUSPARSE_INDEX_64I;
  const char* start = static_cast<const char*>(data) + from * (is_wide ? 8 : 4);
  return morph_cuda::memory(start, is_wide ? c10::kLong : c10::kInt, {n}, {1}, writes);
}

at::Tensor Numbers::memory(at::IntArrayRef sizes, at::IntArrayRef strides, int64_t from, bool writes) const {
  c10::ScalarType torchs = blas::torchs(type);
  return morph_cuda::memory(static_cast<char*>(data) + from * int64_t(c10::elementSize(torchs)), torchs, sizes, strides,
                            writes);
}

Entries Entries::under(cusparseOperation_t op) const {
  if (!is_transposed(op)) return *this;
  return {columns, rows, op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? values.conj() : values};
}

Entries ordered(const Entries& entries, int64_t columns) {
  at::Tensor order = at::argsort(entries.rows * columns + entries.columns, /*stable=*/true);
  return {entries.rows.index({order}), entries.columns.index({order}), entries.values.index({order})};
}

at::Tensor offsets_of(const at::Tensor& sorted, int64_t n) {
  at::Tensor offsets = at::zeros({n + 1}, c10::kLong);
  offsets.slice(0, 1).copy_(at::bincount(sorted, {}, n).cumsum(0));
  return offsets;
}

at::Tensor rows_of(const at::Tensor& offsets) { return at::repeat_interleave(offsets.diff()); }

c10::ScalarType computing(cudaDataType type) {
  switch (type) {
    case CUDA_R_32F: return c10::kFloat;
    case CUDA_R_64F: case CUDA_R_32I: return c10::kDouble;  // which holds products of 8 bits exactly
    case CUDA_C_32F: return c10::kComplexFloat;
    case CUDA_C_64F: return c10::kComplexDouble;
    default: return c10::ScalarType::Undefined;
  }
}

at::Scalar factor(const void* value, cudaDataType type) {
  switch (type) {
    case CUDA_R_32F: return scalar<float>(value);
    case CUDA_R_32I: return scalar<int>(value);
    case CUDA_C_32F: return scalar<cuComplex>(value);
    case CUDA_C_64F: return scalar<cuDoubleComplex>(value);
    default: return scalar<double>(value);
  }
}

at::Tensor applied(const at::Tensor& matrix, cusparseOperation_t op) {
  if (!is_transposed(op)) return matrix;
  return op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? matrix.t().conj() : matrix.t();
}

namespace {

// Of blocks at the given rows and columns of blocks: where each of their numbers lies.
Entries numbers_of_blocks(const cusparseSpMatDescr& matrix, const at::Tensor& rows, const at::Tensor& columns) {
  int64_t height = matrix.block_height, width = matrix.block_width;
  at::Tensor down = at::arange(height, c10::kLong).view({1, -1, 1}),
             right = at::arange(width, c10::kLong).view({1, 1, -1});
  at::Tensor at_row = rows.view({-1, 1, 1}) * height + down, at_column = columns.view({-1, 1, 1}) * width + right;
  at_column = at_column.masked_fill(columns.view({-1, 1, 1}) < 0, -1);
  std::array<int64_t, 3> sizes{rows.numel(), height, width};
  at_row = at_row.expand(sizes), at_column = at_column.expand(sizes);
  if (matrix.order == CUSPARSE_ORDER_COL) at_row = at_row.transpose(1, 2), at_column = at_column.transpose(1, 2);
  return {at_row.reshape({-1}), at_column.reshape({-1}), {}};
}

// Blocks of blocked ELL, in rows of `width` numbers that lie row by row over all blocks.
Entries places_of_ell(const cusparseSpMatDescr& matrix) {
  int64_t block = matrix.block_height, width = matrix.block_width, across = width / block;
  at::Tensor blocks = matrix.inner.read(matrix.rows / block * across).view({-1, 1, across, 1});
  at::Tensor columns = (blocks * block + at::arange(block, c10::kLong)).masked_fill(blocks < 0, -1);
  columns = columns.expand({matrix.rows / block, block, across, block}).reshape({-1});
  return {at::arange(matrix.rows, c10::kLong).repeat_interleave(width), columns, {}};
}

// A slice's numbers lie column by column.
Entries places_of_slices(const cusparseSpMatDescr& matrix) {
  int64_t slice = matrix.block_height, slices = (matrix.rows + slice - 1) / slice;
  at::Tensor offsets = matrix.outer.read(slices + 1), of = rows_of(offsets);
  at::Tensor within = at::arange(of.numel(), c10::kLong) - offsets.index({of});
  return {of * slice + within % slice, matrix.inner.read(of.numel()), {}};
}

Entries places(const cusparseSpMatDescr& matrix, int64_t batch) {
  int64_t from = batch * matrix.outer_stride, inner_from = batch * matrix.stride;
  switch (matrix.format) {
    case CUSPARSE_FORMAT_BLOCKED_ELL: return places_of_ell(matrix);
    case CUSPARSE_FORMAT_SLICED_ELLPACK: return places_of_slices(matrix);
    case CUSPARSE_FORMAT_COO:
      return {matrix.outer.read(matrix.nnz, inner_from), matrix.inner.read(matrix.nnz, inner_from), {}};
    default: break;
  }
  int64_t lines = matrix.format == CUSPARSE_FORMAT_CSC ? matrix.columns : matrix.rows;
  at::Tensor outer = rows_of(matrix.outer.read(lines + 1, from)), inner = matrix.inner.read(outer.numel(), inner_from);
  if (matrix.format == CUSPARSE_FORMAT_CSC) return {inner, outer, {}};
  return matrix.format == CUSPARSE_FORMAT_BSR ? numbers_of_blocks(matrix, outer, inner) : Entries{outer, inner, {}};
}

}  // namespace
}  // namespace morph_cuda::sparse

using namespace morph_cuda::sparse;

at::Tensor cusparseDnMatDescr::values(int64_t of_batch, bool writes) const {
  bool by_rows = order == CUSPARSE_ORDER_ROW;
  return numbers.memory({rows, columns}, {by_rows ? leading : 1, by_rows ? 1 : leading}, of_batch * stride, writes);
}

at::Tensor cusparseSpMatDescr::values(int64_t count, int64_t of_batch, bool writes) const {
  return numbers.memory({count}, {1}, of_batch * stride, writes);
}

Entries cusparseSpMatDescr::stored(int64_t of_batch) const {
  Entries all = places(*this, of_batch);
  all.values = values(all.rows.numel(), of_batch, false);
  return all;
}

Entries cusparseSpMatDescr::entries(int64_t of_batch) const {
  Entries all = stored(of_batch);
  if (format != CUSPARSE_FORMAT_BLOCKED_ELL && format != CUSPARSE_FORMAT_SLICED_ELLPACK) return all;
  at::Tensor held = all.columns >= 0;
  return {all.rows.index({held}), all.columns.index({held}), all.values.index({held})};
}

void cusparseSpMatDescr::write(const Entries& ordered) {
  bool by_columns = format == CUSPARSE_FORMAT_CSC;
  const at::Tensor &lines = by_columns ? ordered.columns : ordered.rows,
                   &others = by_columns ? ordered.rows : ordered.columns;
  outer.write(is_compressed() ? offsets_of(lines, by_columns ? columns : rows) : lines);
  if (inner.data) inner.write(others);
  if (numbers.data) values(others.numel(), 0, true).copy_(ordered.values);
}
