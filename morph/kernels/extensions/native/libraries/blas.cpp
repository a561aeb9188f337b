// cuBLAS's handles, and what its functions share. Memory is the host's, so scalars are read where they lie.
#include "blas.h"

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAFunctions.h>

#include <map>
#include <memory>
#include <vector>

namespace morph_cuda::blas {
namespace {

at::Tensor applied(const at::Tensor& matrix, cublasOperation_t op) {
  if (op == CUBLAS_OP_N) return matrix;
  at::Tensor transposed = matrix.transpose(-2, -1);
  return op == CUBLAS_OP_C ? transposed.conj() : transposed;
}

// As the runtime copies rows. Vectors are rows of one number.
cublasStatus_t copy_rows(int64_t rows, int64_t width, int64_t bytes, const void* a, int64_t lda, void* b, int64_t ldb) {
  if (rows < 0 || width < 0 || bytes <= 0 || lda < width || ldb < width) return CUBLAS_STATUS_INVALID_VALUE;
  size_t number = size_t(bytes), to = size_t(ldb) * number, from = size_t(lda) * number;
  cudaError_t error = cudaMemcpy2D(b, to, a, from, size_t(width) * number, size_t(rows), cudaMemcpyDefault);
  return error ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t get(cublasHandle_t handle, T cublasContext::*member, T* into) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!into) return CUBLAS_STATUS_INVALID_VALUE;
  return *into = handle->*member, CUBLAS_STATUS_SUCCESS;
}
template <class T>
cublasStatus_t set(cublasHandle_t handle, T cublasContext::*member, T value) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  return handle->*member = value, CUBLAS_STATUS_SUCCESS;
}

}  // namespace

at::Tensor Matrix::tensor(int64_t rows, int64_t columns) const {
  if (is_transposed()) std::swap(rows, columns);
  return applied(memory(data, type, {rows, columns}, {1, leading}, is_written), op);
}

at::Tensor Matrix::tensors(int64_t batch, int64_t stride, int64_t rows, int64_t columns) const {
  if (is_transposed()) std::swap(rows, columns);
  return applied(memory(data, type, {batch, rows, columns}, {stride, 1, leading}, is_written), op);
}

// A negative step goes through the memory from its end.
at::Tensor vector(const void* data, c10::ScalarType type, int64_t n, int64_t step) {
  at::Tensor values = memory(data, type, {n}, {std::abs(step)});
  return step < 0 ? values.flip(0) : values;
}

void store(const at::Tensor& values, void* data, c10::ScalarType type, int64_t n, int64_t step) {
  memory(data, type, {n}, {std::abs(step)}, true).copy_(step < 0 ? values.flip(0) : values);
}

}  // namespace morph_cuda::blas

using namespace morph_cuda::blas;

extern "C" {

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR: return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR: return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "cuBLAS status unknown";
}
const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED: return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE: return "an invalid value was passed";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "the program failed to execute";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "the functionality is not supported";
    default: return cublasGetStatusName(status);
  }
}

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  return *handle = new cublasContext, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  return delete handle, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  if (!version) return CUBLAS_STATUS_INVALID_VALUE;
  return *version = CUBLAS_VERSION, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void*, size_t) {
  return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;  // torch has its own
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t to) { return set(handle, &cublasContext::stream, to); }
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* to) { return get(handle, &cublasContext::stream, to); }
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t to) { return set(handle, &cublasContext::math, to); }
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* to) { return get(handle, &cublasContext::math, to); }
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t to) {
  return set(handle, &cublasContext::pointers, to);
}
cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* to) {
  return get(handle, &cublasContext::pointers, to);
}
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t to) {
  return set(handle, &cublasContext::atomics, to);
}
cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* to) {
  return get(handle, &cublasContext::atomics, to);
}
cublasStatus_t cublasSetVector(int n, int bytes, const void* x, int incx, void* y, int incy) {
  return copy_rows(n, 1, bytes, x, incx, y, incy);
}
cublasStatus_t cublasGetVector(int n, int bytes, const void* x, int incx, void* y, int incy) {
  return copy_rows(n, 1, bytes, x, incx, y, incy);
}
cublasStatus_t cublasSetMatrix(int rows, int columns, int bytes, const void* a, int lda, void* b, int ldb) {
  return copy_rows(columns, rows, bytes, a, lda, b, ldb);
}
cublasStatus_t cublasGetMatrix(int rows, int columns, int bytes, const void* a, int lda, void* b, int ldb) {
  return copy_rows(columns, rows, bytes, a, lda, b, ldb);
}
cublasStatus_t cublasSetVector_64(int64_t n, int64_t bytes, const void* x, int64_t incx, void* y, int64_t incy) {
  return copy_rows(n, 1, bytes, x, incx, y, incy);
}
cublasStatus_t cublasGetVector_64(int64_t n, int64_t bytes, const void* x, int64_t incx, void* y, int64_t incy) {
  return copy_rows(n, 1, bytes, x, incx, y, incy);
}
cublasStatus_t cublasSetMatrix_64(int64_t rows, int64_t columns, int64_t bytes, const void* a, int64_t lda, void* b, int64_t ldb) {
  return copy_rows(columns, rows, bytes, a, lda, b, ldb);
}
cublasStatus_t cublasGetMatrix_64(int64_t rows, int64_t columns, int64_t bytes, const void* a, int64_t lda, void* b, int64_t ldb) {
  return copy_rows(columns, rows, bytes, a, lda, b, ldb);
}
}

namespace at::cuda {

// One of each thread and device; its stream is the caller's current one.
cublasHandle_t getCurrentCUDABlasHandle(bool) {
  thread_local std::map<c10::DeviceIndex, std::unique_ptr<cublasContext>> all;
  std::unique_ptr<cublasContext>& mine = all[c10::cuda::current_device()];
  if (!mine) mine = std::make_unique<cublasContext>();
  mine->stream = c10::cuda::getCurrentCUDAStream().stream();
  return mine.get();
}
cublasLtHandle_t getCurrentCUDABlasLtHandle() { return getCurrentCUDABlasHandle(false); }

namespace blas {
const char* _cublasGetErrorEnum(cublasStatus_t status) { return cublasGetStatusName(status); }
}  // namespace blas
}  // namespace at::cuda
