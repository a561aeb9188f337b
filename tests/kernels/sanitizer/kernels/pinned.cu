// Kernels that use pinned memory, and `__device__` variables.
#include "twins.h"

static __device__ float total[4];
static __constant__ float factor[1] = {1};

static __global__ void add_to_total(const float* a) { total[threadIdx.x] += a[threadIdx.x]; }
static __global__ void read_total(float* a) { a[threadIdx.x] = total[threadIdx.x]; }
static __global__ void scale(float* a) { a[threadIdx.x] *= factor[0]; }
static __global__ void copy_of(const float* from, float* to) { to[threadIdx.x] = from[threadIdx.x]; }
static __global__ void publish(float* values, int* is_there) {
  values[0] = 5;
  __threadfence_system();
  atomicExch_system(is_there, 1);
}

SYNC(kernel_after_a_copy_to_pinned_memory, {  // before any kernel was launched
  float* host = pinned(n);
  cudaMemcpyAsync(host, a, n * sizeof(float), cudaMemcpyDeviceToHost, one());
  other_waits(right);
  copy_of<<<1, 64, 0, other()>>>(host, b);
  return cudaSuccess;
})
HOST(result_that_is_read_early, {
  float* host = pinned(n);
  increase_on(one(), host, n);
  if (right) cudaStreamSynchronize(one());
  return host[3] == 2 ? 0 : -1;
})
HOST(result_after_another_stream, {
  float* host = pinned(n);
  increase_on(one(), host, n);
  cudaStreamSynchronize(right ? one() : other());
  return host[3] == 2 ? 0 : -1;
})
HOST(input_that_is_changed_early, {
  float* host = pinned(n);
  copy_of<<<1, 64, 0, one()>>>(host, a);
  if (right) cudaStreamSynchronize(one());
  host[63] = 2;
  return cudaSuccess;
})
HOST(input_beside_a_result, {  // the first half is read, the second is written
  float* host = pinned(n);
  copy_of<<<1, 50, 0, one()>>>(host, host + 50);
  return host[right ? 49 : 50] == 1 ? 0 : -1;
})
HOST(value_behind_a_flag, {
  float* host = pinned(n);
  auto* flag = reinterpret_cast<int*>(host + 50);
  *flag = 0;
  publish<<<1, 1, 0, one()>>>(host, flag);
  while (right && !*const_cast<volatile int*>(flag)) {}
  return host[0] == 5 ? 0 : -1;
})
SYNC(result_that_another_stream_reads, {
  float* host = pinned(n);
  increase_on(one(), host, n);
  other_waits(right);
  copy_of<<<1, 64, 0, other()>>>(host, a);
  return cudaSuccess;
})
SYNC(input_that_another_stream_changes, {
  float* host = pinned(n);
  copy_of<<<1, 64, 0, one()>>>(host, a);
  copy_of<<<1, 64, 0, other()>>>(host, b);
  other_waits(right);
  increase_on(other(), host, n);
  return cudaSuccess;
})
SYNC(copy_of_a_result_in_pinned_memory, {
  float* host = pinned(n);
  increase_on(one(), host, n);
  other_waits(right);
  return cudaMemcpyAsync(a, host, n * sizeof(float), cudaMemcpyHostToDevice, other());
})
SYNC(variable_of_two_kernels, {
  add_to_total<<<1, 4, 0, one()>>>(a);
  other_waits(right);
  read_total<<<1, 4, 0, other()>>>(b);
  return cudaSuccess;
})
SYNC(constant_that_is_replaced_early, {
  float* host = pinned(n);
  scale<<<1, 4, 0, one()>>>(a);
  other_waits(right);
  return cudaMemcpyToSymbolAsync(factor, host, sizeof(float), 0, cudaMemcpyHostToDevice, other());
})
SYNC(variable_that_is_read_back_early, {
  add_to_total<<<1, 4, 0, one()>>>(a);
  other_waits(right);
  float found[4];
  return cudaMemcpyFromSymbolAsync(found, total, sizeof found, 0, cudaMemcpyDeviceToHost, other());
})
