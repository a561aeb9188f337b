// Kernels that wait in what they call, under names of the program's own.
#include <cuda/barrier>
#include <cuda_runtime.h>

#include <cstdio>

using Barrier = cuda::barrier<cuda::thread_scope_block>;
__device__ int shifted(int v) {
  __shared__ int all[64];
  all[threadIdx.x] = v;
  __syncthreads();
  return all[(threadIdx.x + 1) % 64];
}
#ifdef OPERATOR
struct Shifted {
  __device__ int operator()(int v) const { return shifted(v); }
};
#else
struct Shifted {
  __device__ int shift(int v) const { return shifted(v); }
};
#endif
template <class F>
__global__ void calls(int* out, F f) {
#ifdef OPERATOR
  out[threadIdx.x] = f(threadIdx.x);
#else
  out[threadIdx.x] = f.shift(threadIdx.x);
#endif
}
__global__ void meets(int* out) {
  __shared__ Barrier barrier;
  __shared__ int all[64];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  all[63 - threadIdx.x] = threadIdx.x;
  barrier.arrive_and_wait();
  out[threadIdx.x] += all[threadIdx.x];
}

int main() {
  int* out;
  cudaMallocManaged(&out, 64 * sizeof(int));
  calls<<<1, 64>>>(out, Shifted());
  meets<<<1, 64>>>(out);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  for (int i = 0; i < 64; i++) std::printf("%d ", out[i]);
}
