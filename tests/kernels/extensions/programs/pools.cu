// Memory of pools, in the order of a stream.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void write(int* x) { x[threadIdx.x] = int(threadIdx.x) * 3; }

int main() {
  cudaMemPool_t pool, own, current;
  cudaStream_t stream;
  int host[32], *x;
  unsigned long long threshold = ~0ull, kept = 0;
  cudaStreamCreate(&stream);
  cudaDeviceGetDefaultMemPool(&pool, 0);
  cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept);
  cudaMemPoolProps how = {};
  how.allocType = cudaMemAllocationTypePinned, how.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPoolCreate(&own, &how);
  cudaDeviceSetMemPool(0, own), cudaDeviceGetMemPool(&current, 0);
  cudaMallocFromPoolAsync(&x, sizeof host, current, stream);
  write<<<1, 32, 0, stream>>>(x);
  cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost, stream);
  cudaFreeAsync(x, stream);
  cudaStreamSynchronize(stream);
  std::printf("%d %d %d ", kept == threshold, current == own, host[31]);
  std::printf("%d ", cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &kept) == cudaErrorNotSupported);
  std::printf("%d %d\n", cudaMemPoolDestroy(own) == cudaSuccess, cudaMemPoolDestroy(pool) == cudaErrorInvalidValue);
}
