// A kernel that keeps the address of a thread's own variable over a barrier, where no text shows it.
#include <cuda_runtime.h>

#include <cstdio>

struct Values {
  int at[4];
};
struct Held {
  int* first;
};

__global__ void changes_what_is_held(int* out) {
  __shared__ int all[64];
  Values own = {};
  Held held;
  own.at[0] = threadIdx.x;
  held.first = own.at;
  all[threadIdx.x] = own.at[0];
  __syncthreads();
  *held.first += all[63 - threadIdx.x];
  out[threadIdx.x] = own.at[0];
}

int main() {
  int* out;
  cudaMallocManaged(&out, 64 * sizeof(int));
  changes_what_is_held<<<1, 64>>>(out);
  cudaError_t error = cudaGetLastError();
  std::printf("%s %d\n", cudaGetErrorString(error), out[5]);
}
