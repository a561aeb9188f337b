// cuSPARSE's functions. A scalar may be in any memory; buffers are asked for, and not used.
#pragma once

#include "morph/sparse.h"

extern "C" {
const char* cusparseGetErrorName(cusparseStatus_t status);
const char* cusparseGetErrorString(cusparseStatus_t status);
cusparseStatus_t cusparseCreate(cusparseHandle_t* handle);
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle);
cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int* version);
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream);
cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t* stream);
cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode);
cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t* mode);

cusparseStatus_t cusparseCreateSpVec(cusparseSpVecDescr_t* vector, int64_t size, int64_t nnz, void* indices,
                                     void* values, cusparseIndexType_t type, cusparseIndexBase_t base,
                                     cudaDataType numbers);
cusparseStatus_t cusparseDestroySpVec(cusparseConstSpVecDescr_t vector);
cusparseStatus_t cusparseSpVecGetValues(cusparseSpVecDescr_t vector, void** values);
cusparseStatus_t cusparseSpVecSetValues(cusparseSpVecDescr_t vector, void* values);
cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t* vector, int64_t size, void* values, cudaDataType numbers);
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t vector);
cusparseStatus_t cusparseDnVecGet(cusparseDnVecDescr_t vector, int64_t* size, void** values, cudaDataType* numbers);
cusparseStatus_t cusparseDnVecGetValues(cusparseDnVecDescr_t vector, void** values);
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t vector, void* values);
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t leading,
                                     void* values, cudaDataType numbers, cusparseOrder_t order);
cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t matrix);
cusparseStatus_t cusparseDnMatGet(cusparseDnMatDescr_t matrix, int64_t* rows, int64_t* columns, int64_t* leading,
                                  void** values, cudaDataType* numbers, cusparseOrder_t* order);
cusparseStatus_t cusparseDnMatGetValues(cusparseDnMatDescr_t matrix, void** values);
cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t matrix, void* values);
cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t matrix, int count, int64_t stride);

cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t nnz,
                                   void* offsets, void* indices, void* values, cusparseIndexType_t offset_type,
                                   cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType numbers);
cusparseStatus_t cusparseCreateCsc(cusparseSpMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t nnz,
                                   void* offsets, void* indices, void* values, cusparseIndexType_t offset_type,
                                   cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType numbers);
cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t nnz,
                                   void* row_indices, void* column_indices, void* values, cusparseIndexType_t type,
                                   cusparseIndexBase_t base, cudaDataType numbers);
cusparseStatus_t cusparseCreateBsr(cusparseSpMatDescr_t* matrix, int64_t block_rows, int64_t block_columns,
                                   int64_t blocks, int64_t block_height, int64_t block_width, void* offsets,
                                   void* indices, void* values, cusparseIndexType_t offset_type,
                                   cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType numbers,
                                   cusparseOrder_t order);
cusparseStatus_t cusparseCreateBlockedEll(cusparseSpMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t block,
                                          int64_t width, void* indices, void* values, cusparseIndexType_t type,
                                          cusparseIndexBase_t base, cudaDataType numbers);
cusparseStatus_t cusparseCreateSlicedEll(cusparseSpMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t nnz,
                                         int64_t slots, int64_t slice, void* offsets, void* indices, void* values,
                                         cusparseIndexType_t offset_type, cusparseIndexType_t index_type,
                                         cusparseIndexBase_t base, cudaDataType numbers);
cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t matrix);
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t matrix, int64_t* rows, int64_t* columns, int64_t* nnz);
cusparseStatus_t cusparseSpMatGetFormat(cusparseConstSpMatDescr_t matrix, cusparseFormat_t* format);
cusparseStatus_t cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t matrix, cusparseIndexBase_t* base);
cusparseStatus_t cusparseSpMatGetValues(cusparseSpMatDescr_t matrix, void** values);
cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t matrix, void* values);
cusparseStatus_t cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t matrix, cusparseSpMatAttribute_t which,
                                           void* value, size_t bytes);
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t matrix, cusparseSpMatAttribute_t which, void* value,
                                           size_t bytes);
cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t matrix, void* offsets, void* indices, void* values);
cusparseStatus_t cusparseCscSetPointers(cusparseSpMatDescr_t matrix, void* offsets, void* indices, void* values);
cusparseStatus_t cusparseCooSetPointers(cusparseSpMatDescr_t matrix, void* rows, void* columns, void* values);
cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t matrix, int count, int64_t of_offsets,
                                            int64_t of_others);
cusparseStatus_t cusparseCooSetStridedBatch(cusparseSpMatDescr_t matrix, int count, int64_t stride);

cusparseStatus_t cusparseAxpby(cusparseHandle_t handle, const void* alpha, cusparseConstSpVecDescr_t x,
                               const void* beta, cusparseDnVecDescr_t y);
cusparseStatus_t cusparseGather(cusparseHandle_t handle, cusparseConstDnVecDescr_t y, cusparseSpVecDescr_t x);
cusparseStatus_t cusparseScatter(cusparseHandle_t handle, cusparseConstSpVecDescr_t x, cusparseDnVecDescr_t y);
cusparseStatus_t cusparseRot(cusparseHandle_t handle, const void* c, const void* s, cusparseSpVecDescr_t x,
                             cusparseDnVecDescr_t y);
cusparseStatus_t cusparseSpVV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op, cusparseConstSpVecDescr_t x,
                                         cusparseConstDnVecDescr_t y, const void* result, cudaDataType compute,
                                         size_t* bytes);
cusparseStatus_t cusparseSpVV(cusparseHandle_t handle, cusparseOperation_t op, cusparseConstSpVecDescr_t x,
                              cusparseConstDnVecDescr_t y, void* result, cudaDataType compute, void* buffer);

#define MORPH_PRODUCT(NAME, OPERATIONS, A, B, C, ALGORITHM)                                                            \
  cusparseStatus_t NAME##_bufferSize(cusparseHandle_t handle, OPERATIONS, const void* alpha, A a, B b,                 \
                                     const void* beta, C c, cudaDataType compute, ALGORITHM algorithm, size_t* bytes); \
  cusparseStatus_t NAME##_preprocess(cusparseHandle_t handle, OPERATIONS, const void* alpha, A a, B b,                 \
                                     const void* beta, C c, cudaDataType compute, ALGORITHM algorithm, void* buffer);  \
  cusparseStatus_t NAME(cusparseHandle_t handle, OPERATIONS, const void* alpha, A a, B b, const void* beta, C c,       \
                        cudaDataType compute, ALGORITHM algorithm, void* buffer);
#define MORPH_TWO cusparseOperation_t op_a, cusparseOperation_t op_b
MORPH_PRODUCT(cusparseSpMV, cusparseOperation_t op, cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t,
              cusparseDnVecDescr_t, cusparseSpMVAlg_t)
MORPH_PRODUCT(cusparseSpMM, MORPH_TWO, cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t,
              cusparseSpMMAlg_t)
MORPH_PRODUCT(cusparseSDDMM, MORPH_TWO, cusparseConstDnMatDescr_t, cusparseConstDnMatDescr_t, cusparseSpMatDescr_t,
              cusparseSDDMMAlg_t)
#undef MORPH_PRODUCT

cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t* descr);
cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t descr);
cusparseStatus_t cusparseSpGEMM_getNumProducts(cusparseSpGEMMDescr_t descr, int64_t* count);
#define MORPH_SPGEMM                                                                                                   \
  cusparseHandle_t handle, MORPH_TWO, const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,     \
      const void *beta, cusparseSpMatDescr_t c, cudaDataType compute, cusparseSpGEMMAlg_t algorithm,                   \
      cusparseSpGEMMDescr_t descr
#define MORPH_SPGEMM_STRUCTURE                                                                                \
  cusparseHandle_t handle, MORPH_TWO, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,               \
      cusparseSpMatDescr_t c, cusparseSpGEMMAlg_t algorithm, cusparseSpGEMMDescr_t descr
cusparseStatus_t cusparseSpGEMM_workEstimation(MORPH_SPGEMM, size_t* bytes, void* buffer);
cusparseStatus_t cusparseSpGEMM_estimateMemory(MORPH_SPGEMM, float chunk, size_t* bytes, void* buffer,
                                               size_t* for_compute);
cusparseStatus_t cusparseSpGEMM_compute(MORPH_SPGEMM, size_t* bytes, void* buffer);
cusparseStatus_t cusparseSpGEMM_copy(MORPH_SPGEMM);
cusparseStatus_t cusparseSpGEMMreuse_workEstimation(MORPH_SPGEMM_STRUCTURE, size_t* bytes, void* buffer);
cusparseStatus_t cusparseSpGEMMreuse_nnz(MORPH_SPGEMM_STRUCTURE, size_t* bytes2, void* buffer2, size_t* bytes3,
                                         void* buffer3, size_t* bytes4, void* buffer4);
cusparseStatus_t cusparseSpGEMMreuse_copy(MORPH_SPGEMM_STRUCTURE, size_t* bytes, void* buffer);
cusparseStatus_t cusparseSpGEMMreuse_compute(MORPH_SPGEMM);

cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t* descr);
cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t descr);
cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t* descr);
cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t descr);
#define MORPH_SPSV                                                                                            \
  cusparseHandle_t handle, cusparseOperation_t op, const void *alpha, cusparseConstSpMatDescr_t a,            \
      cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpSVAlg_t algorithm, \
      cusparseSpSVDescr_t descr
#define MORPH_SPSM                                                                                             \
  cusparseHandle_t handle, MORPH_TWO, const void *alpha, cusparseConstSpMatDescr_t a,                          \
      cusparseConstDnMatDescr_t b, cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t algorithm,  \
      cusparseSpSMDescr_t descr
cusparseStatus_t cusparseSpSV_bufferSize(MORPH_SPSV, size_t* bytes);
cusparseStatus_t cusparseSpSV_analysis(MORPH_SPSV, void* buffer);
cusparseStatus_t cusparseSpSV_solve(MORPH_SPSV);
cusparseStatus_t cusparseSpSM_bufferSize(MORPH_SPSM, size_t* bytes);
cusparseStatus_t cusparseSpSM_analysis(MORPH_SPSM, void* buffer);
cusparseStatus_t cusparseSpSM_solve(MORPH_SPSM);

cusparseStatus_t cusparseSparseToDense_bufferSize(cusparseHandle_t handle, cusparseConstSpMatDescr_t a,
                                                  cusparseDnMatDescr_t b, cusparseSparseToDenseAlg_t algorithm,
                                                  size_t* bytes);
cusparseStatus_t cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t a, cusparseDnMatDescr_t b,
                                       cusparseSparseToDenseAlg_t algorithm, void* buffer);
cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                  cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t algorithm,
                                                  size_t* bytes);
cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t algorithm,
                                                void* buffer);
cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                               cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t algorithm,
                                               void* buffer);

cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t* descr);
cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t descr);
#define MORPH_ATTRIBUTE(NAME, TYPE)                                            \
  cusparseStatus_t cusparseSet##NAME(cusparseMatDescr_t descr, TYPE value);    \
  TYPE cusparseGet##NAME(const cusparseMatDescr_t descr);
MORPH_ATTRIBUTE(MatType, cusparseMatrixType_t)
MORPH_ATTRIBUTE(MatFillMode, cusparseFillMode_t)
MORPH_ATTRIBUTE(MatDiagType, cusparseDiagType_t)
MORPH_ATTRIBUTE(MatIndexBase, cusparseIndexBase_t)
#undef MORPH_ATTRIBUTE
cusparseStatus_t cusparseCreateIdentityPermutation(cusparseHandle_t handle, int n, int* permutation);
cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t handle, const int* rows, int nnz, int m, int* offsets,
                                  cusparseIndexBase_t base);
cusparseStatus_t cusparseXcsr2coo(cusparseHandle_t handle, const int* offsets, int nnz, int m, int* rows,
                                  cusparseIndexBase_t base);
cusparseStatus_t cusparseXcoosort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz, const int* rows,
                                                const int* columns, size_t* bytes);
cusparseStatus_t cusparseXcoosortByRow(cusparseHandle_t handle, int m, int n, int nnz, int* rows, int* columns,
                                       int* permutation, void* buffer);
cusparseStatus_t cusparseXcoosortByColumn(cusparseHandle_t handle, int m, int n, int nnz, int* rows, int* columns,
                                          int* permutation, void* buffer);
cusparseStatus_t cusparseXcsrsort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz, const int* offsets,
                                                const int* columns, size_t* bytes);
cusparseStatus_t cusparseXcsrsort(cusparseHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t descr,
                                  const int* offsets, int* columns, int* permutation, void* buffer);
cusparseStatus_t cusparseXcscsort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz, const int* offsets,
                                                const int* rows, size_t* bytes);
cusparseStatus_t cusparseXcscsort(cusparseHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t descr,
                                  const int* offsets, int* rows, int* permutation, void* buffer);
#define MORPH_CSRGEAM_STRUCTURE                                                                                     \
  cusparseHandle_t handle, int m, int n, const cusparseMatDescr_t descr_a, int nnz_a, const int *offsets_a,        \
      const int *columns_a, const cusparseMatDescr_t descr_b, int nnz_b, const int *offsets_b, const int *columns_b, \
      const cusparseMatDescr_t descr_c, int *offsets_c, int *total
#define MORPH_CSRGEAM(T)                                                                                           \
  cusparseHandle_t handle, int m, int n, const T *alpha, const cusparseMatDescr_t descr_a, int nnz_a,              \
      const T *values_a, const int *offsets_a, const int *columns_a, const T *beta,                                \
      const cusparseMatDescr_t descr_b, int nnz_b, const T *values_b, const int *offsets_b, const int *columns_b,  \
      const cusparseMatDescr_t descr_c
cusparseStatus_t cusparseXcsrgeam2Nnz(MORPH_CSRGEAM_STRUCTURE, void* buffer);
#define MORPH_CSR2CSC                                                                                                 \
  cusparseHandle_t handle, int m, int n, int nnz, const void *values, const int *offsets, const int *columns,         \
      void *csc_values, int *csc_offsets, int *csc_rows, cudaDataType numbers, cusparseAction_t action,               \
      cusparseIndexBase_t base, cusparseCsr2CscAlg_t algorithm
cusparseStatus_t cusparseCsr2cscEx2_bufferSize(MORPH_CSR2CSC, size_t* bytes);
cusparseStatus_t cusparseCsr2cscEx2(MORPH_CSR2CSC, void* buffer);

cusparseStatus_t cusparseCreateCsrilu02Info(csrilu02Info_t* info);
cusparseStatus_t cusparseDestroyCsrilu02Info(csrilu02Info_t info);
cusparseStatus_t cusparseXcsrilu02_zeroPivot(cusparseHandle_t handle, csrilu02Info_t info, int* position);
cusparseStatus_t cusparseCreateCsric02Info(csric02Info_t* info);
cusparseStatus_t cusparseDestroyCsric02Info(csric02Info_t info);
cusparseStatus_t cusparseXcsric02_zeroPivot(cusparseHandle_t handle, csric02Info_t info, int* position);
#define MORPH_FACTORED(NAME, T, INFO)                                                                           \
  cusparseStatus_t NAME##_bufferSize(cusparseHandle_t handle, int m, int nnz, const cusparseMatDescr_t descr,   \
                                     T* values, const int* offsets, const int* columns, INFO info, int* bytes); \
  cusparseStatus_t NAME##_analysis(cusparseHandle_t handle, int m, int nnz, const cusparseMatDescr_t descr,     \
                                   const T* values, const int* offsets, const int* columns, INFO info,          \
                                   cusparseSolvePolicy_t policy, void* buffer);                                 \
  cusparseStatus_t NAME(cusparseHandle_t handle, int m, int nnz, const cusparseMatDescr_t descr, T* values,     \
                        const int* offsets, const int* columns, INFO info, cusparseSolvePolicy_t policy,        \
                        void* buffer);
#define MORPH_OF_TYPE(LETTER, T)                                                                               \
  cusparseStatus_t cusparse##LETTER##nnz(cusparseHandle_t handle, cusparseDirection_t direction, int m, int n, \
                                         const cusparseMatDescr_t descr, const T* a, int lda, int* counts,     \
                                         int* total);                                                          \
  cusparseStatus_t cusparse##LETTER##csrgeam2_bufferSizeExt(MORPH_CSRGEAM(T), const T* values_c, const int* offsets_c, \
                                                            const int* columns_c, size_t* bytes);                      \
  cusparseStatus_t cusparse##LETTER##csrgeam2(MORPH_CSRGEAM(T), T* values_c, int* offsets_c, int* columns_c,           \
                                              void* buffer);                                                           \
  MORPH_FACTORED(cusparse##LETTER##csrilu02, T, csrilu02Info_t)                                                \
  MORPH_FACTORED(cusparse##LETTER##csric02, T, csric02Info_t)
MORPH_OF_TYPE(S, float)
MORPH_OF_TYPE(D, double)
MORPH_OF_TYPE(C, cuComplex)
MORPH_OF_TYPE(Z, cuDoubleComplex)
#undef MORPH_OF_TYPE
#undef MORPH_FACTORED
}
