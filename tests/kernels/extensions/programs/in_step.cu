// Lanes of a group add up in shared memory, and their leader reads the sum at once: nothing but their pace orders that.
#include <cstdio>

__global__ void sums(const int* groups, float* out) {
  __shared__ float parts[64];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = groups[threadIdx.x];
  int leader = __ffs(__match_any_sync(0xffffffff, group)) - 1;
  float* part = &parts[warp * 32 + leader];
  for (int i = 0; i < 3; i++) {
    if (lane == leader) *part = 0;
    atomicAdd(part, float(threadIdx.x + i));
    if (lane == leader) atomicAdd(out + group * 3 + i, *part);
  }
}

int main() {
  int *groups, wrong = 0;
  float *out, expected[15] = {};
  cudaMallocManaged(&groups, 64 * sizeof *groups), cudaMallocManaged(&out, sizeof expected);
  for (int i = 0; i < 64; i++) {
    groups[i] = i * 7 % 5;
    for (int j = 0; j < 3; j++) expected[groups[i] * 3 + j] += i + j;
  }
  cudaMemset(out, 0, sizeof expected);
  sums<<<1, 64>>>(groups, out);
  cudaDeviceSynchronize();
  for (int i = 0; i < 15; i++) wrong += out[i] != expected[i];
  std::printf("%d\n", wrong);
}
