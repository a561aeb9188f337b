// cuSPARSE's handles and descriptors.
#include "sparse.h"

#include <c10/cuda/CUDAFunctions.h>

#include <cstring>
#include <map>
#include <memory>

namespace morph_cuda::sparse {
namespace {

constexpr const char* kNames[] = {
    "CUSPARSE_STATUS_SUCCESS", "CUSPARSE_STATUS_NOT_INITIALIZED", "CUSPARSE_STATUS_ALLOC_FAILED",
    "CUSPARSE_STATUS_INVALID_VALUE", "CUSPARSE_STATUS_ARCH_MISMATCH", "CUSPARSE_STATUS_MAPPING_ERROR",
    "CUSPARSE_STATUS_EXECUTION_FAILED", "CUSPARSE_STATUS_INTERNAL_ERROR", "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED",
    "CUSPARSE_STATUS_ZERO_PIVOT", "CUSPARSE_STATUS_NOT_SUPPORTED", "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"};
constexpr const char* kTexts[] = {
    "success", "initialization error", "out of memory", "invalid value", "architecture mismatch", "texture bind error",
    "kernel launch failure", "internal error", "matrix type not supported", "zero pivot", "operation not supported",
    "insufficient resources"};

// Keeps a descriptor whose arguments are right.
template <class D>
cusparseStatus_t made(D** descr, bool is_valid, D content) {
  if (!descr || !is_valid) return CUSPARSE_STATUS_INVALID_VALUE;
  return *descr = new D(content), CUSPARSE_STATUS_SUCCESS;
}
template <class D>
cusparseStatus_t ended(const D* descr) {
  if (!descr) return CUSPARSE_STATUS_INVALID_VALUE;
  return delete descr, CUSPARSE_STATUS_SUCCESS;
}
template <class D, class F>
cusparseStatus_t with(D* descr, F work) {
  if (!descr) return CUSPARSE_STATUS_INVALID_VALUE;
  return work(), CUSPARSE_STATUS_SUCCESS;
}

bool are_valid(const cusparseSpMatDescr& matrix) {
  return matrix.rows >= 0 && matrix.columns >= 0 && matrix.nnz >= 0 && matrix.outer.is_valid() &&
         matrix.inner.is_valid() && matrix.block_height > 0 && matrix.block_width > 0;
}
cusparseStatus_t made(cusparseSpMatDescr_t* matrix, const cusparseSpMatDescr& content) {
  return made(matrix, are_valid(content), content);
}

cusparseStatus_t point(cusparseSpMatDescr_t matrix, cusparseFormat_t format, void* outer, void* inner, void* values) {
  if (!matrix || matrix->format != format) return CUSPARSE_STATUS_INVALID_VALUE;
  return matrix->outer.data = outer, matrix->inner.data = inner, matrix->numbers.data = values, CUSPARSE_STATUS_SUCCESS;
}

}  // namespace
}  // namespace morph_cuda::sparse

using namespace morph_cuda::sparse;

extern "C" {

const char* cusparseGetErrorName(cusparseStatus_t status) {
  return size_t(status) < 12 ? kNames[status] : "unknown error";
}
const char* cusparseGetErrorString(cusparseStatus_t status) {
  return size_t(status) < 12 ? kTexts[status] : "unknown error";
}
cusparseStatus_t cusparseCreate(cusparseHandle_t* handle) { return made(handle, true, cusparseContext{}); }
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle) {
  return handle ? ended(handle) : CUSPARSE_STATUS_NOT_INITIALIZED;
}
cusparseStatus_t cusparseGetVersion(cusparseHandle_t, int* version) {
  return with(version, [&] { *version = CUSPARSE_VERSION; });
}
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream) {
  return handle ? (handle->stream = stream, CUSPARSE_STATUS_SUCCESS) : CUSPARSE_STATUS_NOT_INITIALIZED;
}
cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t* stream) {
  return handle ? (*stream = handle->stream, CUSPARSE_STATUS_SUCCESS) : CUSPARSE_STATUS_NOT_INITIALIZED;
}
cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode) {
  return handle ? (handle->pointers = mode, CUSPARSE_STATUS_SUCCESS) : CUSPARSE_STATUS_NOT_INITIALIZED;
}
cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t* mode) {
  return handle ? (*mode = handle->pointers, CUSPARSE_STATUS_SUCCESS) : CUSPARSE_STATUS_NOT_INITIALIZED;
}

cusparseStatus_t cusparseCreateSpVec(cusparseSpVecDescr_t* vector, int64_t size, int64_t nnz, void* indices,
                                     void* values, cusparseIndexType_t type, cusparseIndexBase_t base,
                                     cudaDataType numbers) {
  cusparseSpVecDescr content{size, nnz, {indices, type, base}, {values, numbers}};
  return made(vector, nnz >= 0 && size >= nnz && content.indices.is_valid(), content);
}
cusparseStatus_t cusparseDestroySpVec(cusparseConstSpVecDescr_t vector) { return ended(vector); }
cusparseStatus_t cusparseSpVecGetValues(cusparseSpVecDescr_t vector, void** values) {
  return with(vector, [&] { *values = vector->numbers.data; });
}
cusparseStatus_t cusparseSpVecSetValues(cusparseSpVecDescr_t vector, void* values) {
  return with(vector, [&] { vector->numbers.data = values; });
}
cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t* vector, int64_t size, void* values, cudaDataType numbers) {
  return made(vector, size >= 0, cusparseDnVecDescr{size, {values, numbers}});
}
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t vector) { return ended(vector); }
cusparseStatus_t cusparseDnVecGet(cusparseDnVecDescr_t vector, int64_t* size, void** values, cudaDataType* numbers) {
  return with(vector, [&] { *size = vector->size, *values = vector->numbers.data, *numbers = vector->numbers.type; });
}
cusparseStatus_t cusparseDnVecGetValues(cusparseDnVecDescr_t vector, void** values) {
  return with(vector, [&] { *values = vector->numbers.data; });
}
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t vector, void* values) {
  return with(vector, [&] { vector->numbers.data = values; });
}
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t leading,
                                     void* values, cudaDataType numbers, cusparseOrder_t order) {
  bool is_valid = rows >= 0 && columns >= 0 && leading >= (order == CUSPARSE_ORDER_ROW ? columns : rows);
  return made(matrix, is_valid, cusparseDnMatDescr{rows, columns, leading, {values, numbers}, order});
}
cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t matrix) { return ended(matrix); }
cusparseStatus_t cusparseDnMatGet(cusparseDnMatDescr_t matrix, int64_t* rows, int64_t* columns, int64_t* leading,
                                  void** values, cudaDataType* numbers, cusparseOrder_t* order) {
  return with(matrix, [&] {
    *rows = matrix->rows, *columns = matrix->columns, *leading = matrix->leading;
    *values = matrix->numbers.data, *numbers = matrix->numbers.type, *order = matrix->order;
  });
}
cusparseStatus_t cusparseDnMatGetValues(cusparseDnMatDescr_t matrix, void** values) {
  return with(matrix, [&] { *values = matrix->numbers.data; });
}
cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t matrix, void* values) {
  return with(matrix, [&] { matrix->numbers.data = values; });
}
cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t matrix, int count, int64_t stride) {
  if (count < 1) return CUSPARSE_STATUS_INVALID_VALUE;
  return with(matrix, [&] { matrix->batch = count, matrix->stride = stride; });
}

cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t nnz,
                                   void* offsets, void* indices, void* values, cusparseIndexType_t offset_type,
                                   cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType numbers) {
  return made(matrix, {CUSPARSE_FORMAT_CSR,
                       rows,
                       columns,
                       nnz,
                       {offsets, offset_type, base},
                       {indices, index_type, base},
                       {values, numbers}});
}
cusparseStatus_t cusparseCreateCsc(cusparseSpMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t nnz,
                                   void* offsets, void* indices, void* values, cusparseIndexType_t offset_type,
                                   cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType numbers) {
  return made(matrix, {CUSPARSE_FORMAT_CSC,
                       rows,
                       columns,
                       nnz,
                       {offsets, offset_type, base},
                       {indices, index_type, base},
                       {values, numbers}});
}
cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t nnz,
                                   void* row_indices, void* column_indices, void* values, cusparseIndexType_t type,
                                   cusparseIndexBase_t base, cudaDataType numbers) {
  return made(matrix, {CUSPARSE_FORMAT_COO, rows, columns, nnz, {row_indices, type, base}, {column_indices, type, base},
                       {values, numbers}});
}
cusparseStatus_t cusparseCreateBsr(cusparseSpMatDescr_t* matrix, int64_t block_rows, int64_t block_columns,
                                   int64_t blocks, int64_t block_height, int64_t block_width, void* offsets,
                                   void* indices, void* values, cusparseIndexType_t offset_type,
                                   cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType numbers,
                                   cusparseOrder_t order) {
  return made(matrix, {CUSPARSE_FORMAT_BSR, block_rows, block_columns, blocks, {offsets, offset_type, base},
                       {indices, index_type, base}, {values, numbers}, block_height, block_width, order});
}
cusparseStatus_t cusparseCreateBlockedEll(cusparseSpMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t block,
                                          int64_t width, void* indices, void* values, cusparseIndexType_t type,
                                          cusparseIndexBase_t base, cudaDataType numbers) {
  bool is_valid = block > 0 && width % block == 0 && rows % block == 0;
  if (!is_valid) return CUSPARSE_STATUS_INVALID_VALUE;
  return made(matrix, {CUSPARSE_FORMAT_BLOCKED_ELL, rows, columns, rows * width, {}, {indices, type, base},
                       {values, numbers}, block, width});
}
cusparseStatus_t cusparseCreateSlicedEll(cusparseSpMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t nnz,
                                         int64_t, int64_t slice, void* offsets, void* indices, void* values,
                                         cusparseIndexType_t offset_type, cusparseIndexType_t index_type,
                                         cusparseIndexBase_t base, cudaDataType numbers) {
  return made(matrix, {CUSPARSE_FORMAT_SLICED_ELLPACK, rows, columns, nnz, {offsets, offset_type, base},
                       {indices, index_type, base}, {values, numbers}, slice});
}
cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t matrix) { return ended(matrix); }
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t matrix, int64_t* rows, int64_t* columns, int64_t* nnz) {
  return with(matrix, [&] { *rows = matrix->rows, *columns = matrix->columns, *nnz = matrix->nnz; });
}
cusparseStatus_t cusparseSpMatGetFormat(cusparseConstSpMatDescr_t matrix, cusparseFormat_t* format) {
  return with(matrix, [&] { *format = matrix->format; });
}
cusparseStatus_t cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t matrix, cusparseIndexBase_t* base) {
  return with(matrix, [&] { *base = matrix->inner.base; });
}
cusparseStatus_t cusparseSpMatGetValues(cusparseSpMatDescr_t matrix, void** values) {
  return with(matrix, [&] { *values = matrix->numbers.data; });
}
cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t matrix, void* values) {
  return with(matrix, [&] { matrix->numbers.data = values; });
}
cusparseStatus_t cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t matrix, cusparseSpMatAttribute_t which,
                                           void* value, size_t bytes) {
  if (!matrix || !value || bytes != sizeof(int)) return CUSPARSE_STATUS_INVALID_VALUE;
  int held = which == CUSPARSE_SPMAT_FILL_MODE ? int(matrix->fill) : int(matrix->diagonal);
  return std::memcpy(value, &held, sizeof held), CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t matrix, cusparseSpMatAttribute_t which, void* value,
                                           size_t bytes) {
  if (!matrix || !value || bytes != sizeof(int)) return CUSPARSE_STATUS_INVALID_VALUE;
  int given;
  std::memcpy(&given, value, sizeof given);
  if (which == CUSPARSE_SPMAT_FILL_MODE) matrix->fill = cusparseFillMode_t(given);
  else matrix->diagonal = cusparseDiagType_t(given);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t matrix, void* offsets, void* indices, void* values) {
  return point(matrix, CUSPARSE_FORMAT_CSR, offsets, indices, values);
}
cusparseStatus_t cusparseCscSetPointers(cusparseSpMatDescr_t matrix, void* offsets, void* indices, void* values) {
  return point(matrix, CUSPARSE_FORMAT_CSC, offsets, indices, values);
}
cusparseStatus_t cusparseCooSetPointers(cusparseSpMatDescr_t matrix, void* rows, void* columns, void* values) {
  return point(matrix, CUSPARSE_FORMAT_COO, rows, columns, values);
}
cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t matrix, int count, int64_t of_offsets,
                                            int64_t of_others) {
  if (count < 1) return CUSPARSE_STATUS_INVALID_VALUE;
  return with(matrix, [&] { matrix->batch = count, matrix->outer_stride = of_offsets, matrix->stride = of_others; });
}
cusparseStatus_t cusparseCooSetStridedBatch(cusparseSpMatDescr_t matrix, int count, int64_t stride) {
  return cusparseCsrSetStridedBatch(matrix, count, 0, stride);
}

cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t* descr) { return made(descr, true, cusparseMatDescr{}); }
cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t descr) { return ended(descr); }
#define MORPH_ATTRIBUTE(NAME, TYPE, MEMBER)                                  \
  cusparseStatus_t cusparseSet##NAME(cusparseMatDescr_t descr, TYPE value) { \
    return with(descr, [&] { descr->MEMBER = value; });                      \
  }                                                                          \
  TYPE cusparseGet##NAME(const cusparseMatDescr_t descr) { return descr ? descr->MEMBER : TYPE(0); }
MORPH_ATTRIBUTE(MatType, cusparseMatrixType_t, type)
MORPH_ATTRIBUTE(MatFillMode, cusparseFillMode_t, fill)
MORPH_ATTRIBUTE(MatDiagType, cusparseDiagType_t, diagonal)
MORPH_ATTRIBUTE(MatIndexBase, cusparseIndexBase_t, base)
#undef MORPH_ATTRIBUTE
}

namespace at::cuda {

// One of each thread and device; its stream is the caller's current one.
cusparseHandle_t getCurrentCUDASparseHandle() {
  thread_local std::map<c10::DeviceIndex, cusparseContext> all;
  cusparseContext& mine = all[c10::cuda::current_device()];
  mine.stream = c10::cuda::getCurrentCUDAStream().stream();
  return &mine;
}

}  // namespace at::cuda
