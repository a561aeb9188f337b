// Calls what a header has for this GPU, then what it has for a later one, which is in no kernel itself.
#include <cstdio>
#include <cuda_runtime.h>

#include "library/many.h"

__global__ void first(int* out) { *out = many::of_this_gpu(3); }
__global__ void second(int* out) { *out = many::of_a_later_gpu(3); }

int main() {
  int *device, host = 0;
  cudaMalloc(&device, sizeof host);
  first<<<1, 1>>>(device);
  cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%d\n", host);
  std::fflush(stdout);
  second<<<1, 1>>>(device);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
