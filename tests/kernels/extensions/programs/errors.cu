// A kernel's errors, as a program of CUDA's meets them: by the numbers of the calls that follow.
#include <cassert>
#include <cstdio>

__global__ void fill(int n, int* all) { all[threadIdx.x] = n; }
__global__ __launch_bounds__(64) void bounded() {}
__global__ void check(int n) { assert(n < 3); }

void say(cudaError_t error) { std::printf("%s\n", cudaGetErrorName(error)); }

int main() {
  int* memory;
  cudaMalloc(&memory, 400);
  fill<<<1, 2000>>>(1, memory);  // too many threads: told once, and nothing else is lost
  say(cudaPeekAtLastError()), say(cudaGetLastError()), say(cudaGetLastError());
  bounded<<<1, 65>>>();
  say(cudaGetLastError());
  fill<<<1, 100>>>(1, memory);
  say(cudaDeviceSynchronize());
  check<<<1, 1>>>(5);  // nothing works after it
  say(cudaGetLastError()), say(cudaGetLastError()), say(cudaMalloc(&memory, 4)), say(cudaMemset(memory, 0, 4));
  say(cudaDeviceReset()), say(cudaDeviceSynchronize());
  return 0;
}
