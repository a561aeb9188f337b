// One of several files of a program: the others are another kernel's, C and C++ with OpenMP.
#include <cstdio>
#include <cublas_v2.h>
#include <cufft.h>
#include <curand.h>
#include "parts.h"

__device__ int counter;
__global__ void count() { atomicAdd(&counter, twice(int(threadIdx.x))); }

int main() {
  int counted = 0, drawn = 10;
  float *numbers, sum = 0;
  count<<<1, 4>>>();
  cudaMemcpyFromSymbol(&counted, counter, sizeof counted);
  cublasHandle_t blas;
  curandGenerator_t generator;
  cufftHandle plan;
  cudaMalloc(&numbers, drawn * sizeof *numbers);
  bool works = !cublasCreate(&blas) && !curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT) &&
               !curandGenerateUniform(generator, numbers, drawn) && !cublasSasum(blas, drawn, numbers, 1, &sum) &&
               !cufftPlan1d(&plan, 8, CUFFT_C2C, 1);
  std::printf("%d %g %d %s %d\n", counted, root(16), threads(3), caught(), works && sum > 0 && sum < drawn);
}
