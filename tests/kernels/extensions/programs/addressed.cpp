#include <cooperative_groups.h>  // DeepSpeed's sources of the host include what is for kernels
#include <cooperative_groups/memcpy_async.h>
#include <cstdio>
#include <cuda_runtime.h>

void fill(int* out, const int value);
namespace kernels {
void add(int* out, int value);
}

int main() {
  int *out, value = 7, found[4];
  cudaMalloc((void**)&out, sizeof found);
  void* arguments[] = {&out, &value};
  int first = cudaLaunchKernel((void*)fill, dim3(1), dim3(4), arguments, 0, nullptr);
  int second = cudaLaunchKernel((void*)kernels::add, dim3(1), dim3(4), arguments, 0, nullptr);
  cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost);
  std::printf("%d %d %d %d\n", first, second, found[0], found[3]);
}
