#include <cstdio>

__global__ void fill(int* all) { all[threadIdx.x] = 1; }

int main() {
  int* memory;
  cudaMalloc(&memory, 400);
  fill<<<1, 128>>>(memory);
  return cudaDeviceSynchronize();
}
