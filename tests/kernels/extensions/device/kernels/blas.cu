// cuBLAS as a program calls it: each function returns the status.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

namespace {

cublasHandle_t handle() {
  static cublasHandle_t made = [] {
    cublasHandle_t fresh;
    cublasCreate_v2(&fresh);
    cublasSetStream(fresh, nullptr);
    cublasSetMathMode(fresh, CUBLAS_TF32_TENSOR_OP_MATH);
    return fresh;
  }();
  return made;
}
cublasOperation_t op(int number) { return static_cast<cublasOperation_t>(number); }

}  // namespace

extern "C" {

// D = epilogue(alpha A^T B + beta C), by rows or by columns, as programs ask cuBLASLt for it.
int multiply_lt(int kind, int kind_d, int compute, int scale, int m, int n, int k, const void* alpha, const void* a, const void* b,
                const void* beta, void* d, int epilogue, const void* bias, int pointers) {
  cublasLtHandle_t lt;
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t of_a, of_b, of_d;
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulHeuristicResult_t found;
  int count = 0, transposed = CUBLAS_OP_T;
  cublasLtOrder_t by_rows = CUBLASLT_ORDER_ROW;
  size_t bytes = 1 << 20;
  auto type = [](int number) { return static_cast<cudaDataType>(number); };
  cublasLtCreate(&lt);
  cublasLtMatmulDescCreate(&desc, static_cast<cublasComputeType_t>(compute), type(scale));
  cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
  cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
  cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_POINTER_MODE, &pointers, sizeof pointers);
  cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
  cublasLtMatrixLayoutCreate(&of_a, type(kind), k, m, k);
  cublasLtMatrixLayoutCreate(&of_b, type(kind), k, n, k);
  cublasLtMatrixLayoutCreate(&of_d, type(kind_d), m, n, n);
  cublasLtMatrixLayoutSetAttribute(of_d, CUBLASLT_MATRIX_LAYOUT_ORDER, &by_rows, sizeof by_rows);
  cublasLtMatmulPreferenceCreate(&preference);
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes);
  cublasLtMatmulAlgoGetHeuristic(lt, desc, of_a, of_b, of_d, of_d, preference, 1, &found, &count);
  int status = count != 1 ? -1
                          : cublasLtMatmul(lt, desc, alpha, a, of_a, b, of_b, beta, d, of_d, d, of_d, &found.algo, nullptr, 0, nullptr);
  cublasLtMatmulPreferenceDestroy(preference);
  for (auto each : {of_a, of_b, of_d}) cublasLtMatrixLayoutDestroy(each);
  cublasLtMatmulDescDestroy(desc);
  cublasLtDestroy(lt);
  return status;
}

// D = epilogue(A B), by columns, in a batch: with what cuBLASLt keeps of it, or takes of what it kept. The descriptions
// are in memory of our own.
int multiply_with(int kind, int m, int n, int k, int batch, const void* a, const void* b, void* d, int epilogue, void* bias,
                  int kind_of_bias, int bias_stride, void* kept, int leading, int kept_stride) {
  cublasLtHandle_t lt;
  cublasLtMatmulDescOpaque_t memory;
  cublasLtMatrixLayoutOpaque_t memories[3];
  cublasLtMatmulDesc_t desc = &memory;
  cublasLtMatrixLayout_t layouts[3] = {&memories[0], &memories[1], &memories[2]};
  auto type = static_cast<cudaDataType>(kind);
  const float one = 1, zero = 0;
  const int sizes[3][2] = {{m, k}, {k, n}, {m, n}};
  auto set = [&](cublasLtMatmulDescAttributes_t which, auto value) {
    return cublasLtMatmulDescSetAttribute(desc, which, &value, sizeof value);
  };
  cublasLtCreate(&lt);
  cublasLtMatmulDescInit(desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  int failed = set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue) + set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias) +
               set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, kind_of_bias) + set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, int64_t(bias_stride)) +
               set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, kept) + set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t(leading)) +
               set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, int64_t(kept_stride));
  for (int i = 0; i < 3; i++) {
    int64_t stride = sizes[i][0] * sizes[i][1];
    cublasLtMatrixLayoutInit(layouts[i], type, sizes[i][0], sizes[i][1], sizes[i][0]);
    cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
    cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
  }
  int status = failed ? -1
                      : cublasLtMatmul(lt, desc, &one, a, layouts[0], b, layouts[1], &zero, d, layouts[2], d, layouts[2], nullptr,
                                       nullptr, 0, nullptr);
  cublasLtDestroy(lt);
  return status;
}

int multiply(char kind, int op_a, int op_b, int m, int n, int k, const void* factors, const void* a, int lda,
             const void* b, int ldb, void* c, int ldc) {
#define CASE(LETTER, NAME, T)                                                                                       \
  case LETTER:                                                                                                      \
    return NAME(handle(), op(op_a), op(op_b), m, n, k, static_cast<const T*>(factors), static_cast<const T*>(a), lda, \
                static_cast<const T*>(b), ldb, static_cast<const T*>(factors) + 1, static_cast<T*>(c), ldc);
  switch (kind) {
    CASE('S', cublasSgemm, float)
    CASE('D', cublasDgemm, double)
    CASE('H', cublasHgemm, __half)
    CASE('Z', cublasZgemm, cuDoubleComplex)
  }
#undef CASE
  return -1;
}
int multiply_mixed(int types, int type_c, int compute, int m, int n, int k, const void* factors, const void* factor_c,
                   const void* a, int lda, const void* b, int ldb, void* c, int ldc) {
  auto type = static_cast<cudaDataType_t>(types);
  return cublasGemmEx(handle(), CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, factors, a, type, lda, b, type, ldb, factor_c, c,
                      static_cast<cudaDataType_t>(type_c), ldc, static_cast<cublasComputeType_t>(compute),
                      CUBLAS_GEMM_DEFAULT_TENSOR_OP);
}
// Batches of n by n matrices, in one piece of memory: by strides, and by pointers.
int multiply_batches(int n, int batch, const float* a, const float* b, float* by_strides, float* by_pointers) {
  float one = 1, zero = 0;
  long long stride = n * n;
  const float** lists;
  cudaMallocManaged(&lists, 3 * batch * sizeof(float*));
  float** results = const_cast<float**>(lists + 2 * batch);
  for (int i = 0; i < batch; i++)
    lists[i] = a + i * stride, lists[batch + i] = b + i * stride, results[i] = by_pointers + i * stride;
  int status = cublasSgemmStridedBatched(handle(), CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, a, n, stride, b, n, stride,
                                         &zero, by_strides, n, stride, batch);
  if (!status)
    status = cublasSgemmBatched(handle(), CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, lists, n, lists + batch, n, &zero,
                                results, n, batch);
  cudaFree(lists);
  return status;
}
int multiply_vector(int transposed, int m, int n, const double* a, int lda, const double* x, int incx, double* y, int incy) {
  double alpha = 0.5, beta = 2;
  return cublasDgemv(handle(), op(transposed), m, n, &alpha, a, lda, x, incx, &beta, y, incy);
}
int add_outer(int m, int n, const double* x, int incx, const double* y, int incy, double* a, int lda) {
  double alpha = 0.5;
  return cublasDger(handle(), m, n, &alpha, x, incx, y, incy, a, lda);
}
int solve(int side, int fill, int transposed, int diagonal, int m, int n, const double* a, int lda, double* b, int ldb) {
  double alpha = 0.5;
  return cublasDtrsm(handle(), static_cast<cublasSideMode_t>(side), static_cast<cublasFillMode_t>(fill), op(transposed),
                     static_cast<cublasDiagType_t>(diagonal), m, n, &alpha, a, lda, b, ldb);
}
int add_matrices(int op_a, int op_b, int m, int n, const double* a, int lda, const double* b, int ldb, double* c, int ldc) {
  double alpha = 0.5, beta = 2;
  return cublasDgeam(handle(), op(op_a), op(op_b), m, n, &alpha, a, lda, &beta, b, ldb, c, ldc);
}
int scale_each(int side, int m, int n, const double* a, int lda, const double* x, int incx, double* c, int ldc) {
  return cublasDdgmm(handle(), static_cast<cublasSideMode_t>(side), m, n, a, lda, x, incx, c, ldc);
}
// With scalars in the device's memory: results are dot, norm, sum of sizes; places are the largest and the smallest.
int reduce(int n, const float* x, int incx, const float* y, int incy, float* results, int* places) {
  cublasSetPointerMode(handle(), CUBLAS_POINTER_MODE_DEVICE);
  int status = cublasSdot(handle(), n, x, incx, y, incy, results) | cublasSnrm2(handle(), n, x, incx, results + 1) |
               cublasSasum(handle(), n, x, incx, results + 2) | cublasIsamax(handle(), n, x, incx, places) |
               cublasIsamin(handle(), n, x, incx, places + 1);
  cublasSetPointerMode(handle(), CUBLAS_POINTER_MODE_HOST);
  return status;
}
// y += 2 x; x *= 3; z = x; then x and y are exchanged.
int update(int n, float* x, int incx, float* y, int incy, float* z) {
  float two = 2, three = 3;
  return cublasSaxpy(handle(), n, &two, x, incx, y, incy) | cublasSscal(handle(), n, &three, x, incx) |
         cublasScopy(handle(), n, x, incx, z, 1) | cublasSswap(handle(), n, x, incx, y, incy);
}
int handles(int* found) {
  cublasHandle_t own;
  cudaStream_t stream;
  cublasMath_t math;
  cublasPointerMode_t pointers;
  int status = cublasCreate(&own) | cublasSetStream(own, reinterpret_cast<cudaStream_t>(5)) | cublasGetStream(own, &stream) |
               cublasSetMathMode(own, CUBLAS_PEDANTIC_MATH) | cublasGetMathMode(own, &math) |
               cublasGetPointerMode(own, &pointers);
  found[0] = int(reinterpret_cast<long>(stream)), found[1] = math, found[2] = pointers;
  return status | cublasDestroy(own);
}
const char* text(int status) { return cublasGetStatusName(static_cast<cublasStatus_t>(status)); }
}
