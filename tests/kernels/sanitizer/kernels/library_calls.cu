// Calls of CUDA's libraries.
#include "twins.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cufft.h>
#include <curand.h>

static const float kOne = 1;
static const float kZero = 0;

static cublasHandle_t blas(cudaStream_t stream) {
  static cublasHandle_t handle = nullptr;
  if (!handle) cublasCreate(&handle);
  cublasSetStream(handle, stream);
  cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
  return handle;
}

// Squares of `size` rows: b = a a.
static int multiply(cudaStream_t stream, const float* a, float* b, int size, int lda) {
  return cublasSgemm(blas(stream), CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &kOne, a, lda, a, lda, &kZero, b, size);
}

static int multiply_lt(cudaStream_t stream, const float* a, float* b, int size, int leading) {
  static cublasLtHandle_t handle = nullptr;
  if (!handle) cublasLtCreate(&handle);
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t in, out;
  cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatrixLayoutCreate(&in, CUDA_R_32F, size, size, size);
  cublasLtMatrixLayoutCreate(&out, CUDA_R_32F, size, size, leading);
  return cublasLtMatmul(handle, product, &kOne, a, in, a, in, &kZero, b, out, b, out, nullptr, nullptr, 0, stream);
}

static int transform(cudaStream_t stream, float* a, float* b, int count, int batch) {
  cufftHandle plan;
  cufftPlan1d(&plan, count, CUFFT_C2C, batch);
  cufftSetStream(plan, stream);
  struct Ended {
    cufftHandle plan;
    ~Ended() { cufftDestroy(plan); }
  } ended{plan};
  return cufftExecC2C(plan, reinterpret_cast<cufftComplex*>(a), reinterpret_cast<cufftComplex*>(b), CUFFT_FORWARD);
}

static int draw(cudaStream_t stream, float* a, int count) {
  static curandGenerator_t generator = nullptr;
  if (!generator) curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT);
  curandSetStream(generator, stream);
  return curandGenerateUniform(generator, a, count);
}

SYNC(factor_of_another_stream, {
  increase_on(one(), a, n);
  other_waits(right);
  return multiply(other(), a, b, 10, 10);
})
SYNC(product_of_another_stream, {
  int status = multiply(one(), a, b, 10, 10);
  other_waits(right);
  increase_on(other(), b, n);
  return status;
})
SYNC(columns_beside_a_product, {  // five rows of ten
  increase_on(one(), b, right ? 5 : 6);
  return cublasSgemm(blas(other()), CUBLAS_OP_N, CUBLAS_OP_N, 5, 10, 10, &kOne, a, 10, a, 10, &kZero, b + 5, 10);
})
SYNC(vector_of_another_stream, {
  increase_on(one(), a, n);
  other_waits(right);
  return cublasSaxpy(blas(other()), n, &kOne, a, 1, b, 1);
})
SYNC(change_after_a_sum, {  // whose result on the host is waited for
  float sum = 0;
  cublasHandle_t handle = blas(one());
  if (!right) cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
  int status = cublasSasum(handle, n, a, 1, right ? &sum : b);
  increase_on(other(), a, n);
  return status;
})
SYNC(columns_of_a_matrix_that_is_given, {
  increase_on(one(), a, n);
  if (right) cudaStreamSynchronize(one());
  float host[100];
  return cublasGetMatrix(10, 10, sizeof(float), a, 10, host, 10);
})
SYNC(light_product_of_another_stream, {
  int status = multiply_lt(one(), a, b, 10, 10);
  other_waits(right);
  increase_on(other(), b, n);
  return status;
})
SYNC(transform_of_another_stream, {
  increase_on(one(), a, n);
  other_waits(right);
  return transform(other(), a, b, n / 2, 1);
})
SYNC(random_numbers_of_another_stream, {
  int status = draw(one(), a, n);
  other_waits(right);
  increase_on(other(), a, n);
  return status;
})

MEMORY(leading_dimension_too_large, { return multiply(one(), a, b, 10, right ? 10 : 11); })
MEMORY(product_that_does_not_fit, {
  return cublasSgemm(blas(one()), CUBLAS_OP_N, CUBLAS_OP_T, 10, 10, 1, &kOne, a, 10, a, 10, &kZero, b, right ? 10 : 12);
})
MEMORY(batch_too_long, {
  int batch = right ? 4 : 5;
  return cublasSgemmStridedBatched(blas(one()), CUBLAS_OP_N, CUBLAS_OP_N, 5, 5, 5, &kOne, a, 5, 25, a, 5, 0, &kZero, b,
                                   5, 25, batch);
})
MEMORY(memory_that_was_freed, {
  float* freed;
  cudaMalloc(&freed, n * sizeof(float));
  if (!right) cudaFree(freed);
  int status = multiply(one(), freed, b, 10, 10);
  if (right) cudaFree(freed);
  return status;
})
MEMORY(steps_too_long, { return cublasSscal(blas(one()), n / 2, &kOne, a, right ? 2 : 3); })
MEMORY(matrix_that_does_not_fit, { return multiply_lt(one(), a, b, 10, right ? 10 : 11); })
MEMORY(transforms_too_many, { return transform(one(), a, b, 10, right ? 5 : 6); })
MEMORY(random_numbers_too_many, { return draw(one(), a, right ? n : n + 1); })
