// Blocks that wait for each other, of which the first thread arrives for all: on a GPU a block's threads keep step, so that
// what the others add just before it arrives is there (vLLM 0.33.0's persistent_topk relies on it).
#include <cstdio>

__global__ void count(int* counts, int* arrived, int* out, bool by_assembly) {
  atomicAdd(&counts[threadIdx.x], 1);
  if (threadIdx.x == 0) {
    if (by_assembly) {
      asm volatile("fence.acq_rel.gpu;\n red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(arrived), "r"(1) : "memory");
    } else {
      __threadfence();
      atomicAdd(arrived, 1);
    }
    while (atomicAdd(arrived, 0) < gridDim.x) {
    }
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(&counts[threadIdx.x], 0);
}

int main() {
  const int blocks = 6, threads = 256, launches = 40;
  int *counts, *out, wrong = 0;
  cudaMallocManaged(&counts, (threads + 1) * sizeof(int));
  cudaMallocManaged(&out, blocks * threads * sizeof(int));
  for (int i = 0; i < launches; i++) {
    cudaMemset(counts, 0, (threads + 1) * sizeof(int));
    count<<<blocks, threads>>>(counts, counts + threads, out, i % 2);
    cudaDeviceSynchronize();
    for (int j = 0; j < blocks * threads; j++) wrong += out[j] != blocks;
  }
  std::printf("%s, %d wrong\n", cudaGetErrorString(cudaGetLastError()), wrong);
}
