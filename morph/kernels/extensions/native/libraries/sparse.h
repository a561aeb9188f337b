// What cuSPARSE's functions share: what lies behind their descriptors, as torch's tensors.
#pragma once

#include "blas.h"
#include "morph/sparse.h"

#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>

struct cusparseContext {
  cudaStream_t stream = nullptr;
  cusparsePointerMode_t pointers = CUSPARSE_POINTER_MODE_HOST;
};

struct cusparseMatDescr {
  cusparseMatrixType_t type = CUSPARSE_MATRIX_TYPE_GENERAL;
  cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
  cusparseIndexBase_t base = CUSPARSE_INDEX_BASE_ZERO;
};

namespace morph_cuda::sparse {

constexpr size_t kBuffer = 16;  // bytes of a buffer, which programs allocate: a null pointer would ask for its size

struct Indices {  // in a program's memory, from `base` on
  void* data = nullptr;
  cusparseIndexType_t type = CUSPARSE_INDEX_32I;
  cusparseIndexBase_t base = CUSPARSE_INDEX_BASE_ZERO;

  bool is_valid() const { return type == CUSPARSE_INDEX_32I || type == CUSPARSE_INDEX_64I; }
  at::Tensor memory(int64_t n, int64_t from, bool writes) const;
  at::Tensor read(int64_t n, int64_t from = 0) const { return memory(n, from, false).to(c10::kLong) - int64_t(base); }
  void write(const at::Tensor& indices) const { memory(indices.numel(), 0, true).copy_(indices + int64_t(base)); }
};

struct Numbers {  // in a program's memory
  void* data = nullptr;
  cudaDataType type = CUDA_R_32F;

  at::Tensor memory(at::IntArrayRef sizes, at::IntArrayRef strides, int64_t from, bool writes) const;
};

// The numbers that a matrix holds, in the order of its memory.
struct Entries {
  at::Tensor rows, columns, values;

  Entries under(cusparseOperation_t op) const;
  Entries in(c10::ScalarType type) const { return {rows, columns, values.to(type)}; }
};
Entries ordered(const Entries& entries, int64_t columns);  // by rows, and by columns within them
at::Tensor offsets_of(const at::Tensor& sorted, int64_t n);      // where each of n begins: n + 1 numbers
at::Tensor rows_of(const at::Tensor& offsets);                   // and back

c10::ScalarType computing(cudaDataType type);  // of sums in this type; Undefined: not served
at::Scalar factor(const void* value, cudaDataType type);

inline bool is_transposed(cusparseOperation_t op) { return op != CUSPARSE_OPERATION_NON_TRANSPOSE; }
at::Tensor applied(const at::Tensor& matrix, cusparseOperation_t op);

struct Caller {
  cusparseHandle_t handle;
  const char* name;
  Caller(cusparseHandle_t handle, const char* name = __builtin_FUNCTION()) : handle(handle), name(name) {}
};

// Does the work of a call whose arguments are right; it may return a status.
template <class F>
cusparseStatus_t answered(Caller by, cusparseStatus_t checked, F work) {
  if (!by.handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (checked) return checked;
  Statuses statuses{CUSPARSE_STATUS_ALLOC_FAILED, CUSPARSE_STATUS_EXECUTION_FAILED};
  return cusparseStatus_t(status_of(by.name, by.handle->stream, statuses, work));
}
template <class F>
cusparseStatus_t answered(Caller by, bool is_valid, F work) {
  return answered(by, is_valid ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE, work);
}
// Of a call that asks how large a buffer is.
inline cusparseStatus_t sized(cusparseHandle_t handle, cusparseStatus_t checked, size_t* bytes) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (checked || !bytes) return checked ? checked : CUSPARSE_STATUS_INVALID_VALUE;
  return *bytes = kBuffer, CUSPARSE_STATUS_SUCCESS;
}

}  // namespace morph_cuda::sparse

struct cusparseSpVecDescr {
  int64_t size, nnz;
  morph_cuda::sparse::Indices indices;
  morph_cuda::sparse::Numbers numbers;

  at::Tensor places() const { return indices.read(nnz); }
  at::Tensor values(bool writes = false) const { return numbers.memory({nnz}, {1}, 0, writes); }
};

struct cusparseDnVecDescr {
  int64_t size;
  morph_cuda::sparse::Numbers numbers;

  at::Tensor values(bool writes = false) const { return numbers.memory({size}, {1}, 0, writes); }
};

struct cusparseDnMatDescr {
  int64_t rows, columns, leading;
  morph_cuda::sparse::Numbers numbers;
  cusparseOrder_t order;
  int64_t batch = 1, stride = 0;

  at::Tensor values(int64_t of_batch = 0, bool writes = false) const;
};

struct cusparseSpMatDescr {
  cusparseFormat_t format;
  int64_t rows, columns, nnz;  // of BSR in blocks
  morph_cuda::sparse::Indices outer, inner;  // offsets and indices; of COO rows and columns
  morph_cuda::sparse::Numbers numbers;
  int64_t block_height = 1, block_width = 1;  // of a slice its rows; of blocked ELL its columns of all blocks
  cusparseOrder_t order = CUSPARSE_ORDER_ROW;  // in blocks
  cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
  int64_t batch = 1, outer_stride = 0, stride = 0;

  bool is_compressed() const { return format == CUSPARSE_FORMAT_CSR || format == CUSPARSE_FORMAT_CSC; }
  int64_t height() const { return format == CUSPARSE_FORMAT_BSR ? rows * block_height : rows; }
  int64_t width() const { return format == CUSPARSE_FORMAT_BSR ? columns * block_width : columns; }
  morph_cuda::sparse::Entries stored(int64_t of_batch = 0) const;   // with what only fills up a row: column -1
  morph_cuda::sparse::Entries entries(int64_t of_batch = 0) const;  // without
  at::Tensor values(int64_t count, int64_t of_batch, bool writes) const;
  void write(const morph_cuda::sparse::Entries& ordered);  // those of CSR, CSC and COO
};
