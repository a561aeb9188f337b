// Copies and fills of the runtime's.
#include "twins.h"

#include <vector>

SYNC(copy_of_a_result, {
  increase_on(one(), a, n);
  other_waits(right);
  return cudaMemcpyAsync(b, a, n * sizeof(float), cudaMemcpyDeviceToDevice, other());
})
SYNC(kernel_after_a_copy, {
  cudaMemcpyAsync(b, a, n * sizeof(float), cudaMemcpyDefault, one());
  other_waits(right);
  increase_on(other(), b, n);
  return cudaSuccess;
})
SYNC(change_while_it_is_copied, {
  cudaMemcpyPeerAsync(b, 0, a, 0, n * sizeof(float), one());
  other_waits(right);
  increase_on(other(), a, n);
  return cudaSuccess;
})
SYNC(kernel_after_a_fill, {
  cudaMemsetAsync(a, 0, n * sizeof(float), one());
  other_waits(right);
  increase_on(other(), a, n);
  return cudaSuccess;
})
SYNC(fill_after_a_kernel, {
  increase_on(one(), a, n);
  other_waits(right);
  return cudaMemsetAsync(a, 0, n * sizeof(float), other());
})
SYNC(fill_that_returns_early, {
  cudaMemset(a, 0, n * sizeof(float));
  if (right) cudaDeviceSynchronize();
  increase_on(one(), a, n);
  return cudaSuccess;
})
SYNC(copy_that_returns_early, {
  cudaMemcpy(b, a, n * sizeof(float), cudaMemcpyDeviceToDevice);
  if (right) cudaDeviceSynchronize();
  increase_on(one(), b, n);
  return cudaSuccess;
})
SYNC(copy_from_pageable_memory_that_returns_early, {
  std::vector<float> host(n);
  cudaMemcpy(a, right ? pinned(n) : host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  increase_on(one(), a, n);
  return cudaSuccess;
})
SYNC(result_of_a_stream_that_does_not_block, {
  increase_on(one(), a, n);
  if (right) cudaStreamSynchronize(one());
  std::vector<float> host(n);
  return cudaMemcpy(host.data(), a, n * sizeof(float), cudaMemcpyDeviceToHost);
})
SYNC(change_after_a_copy_to_pinned_memory, {  // to other memory it waits by itself
  std::vector<float> host(n);
  cudaMemcpyAsync(right ? host.data() : pinned(n), a, n * sizeof(float), cudaMemcpyDeviceToHost, one());
  increase_on(other(), a, n);
  return cudaSuccess;
})
SYNC(columns_that_overlap, {
  float* columns = right ? a + 5 : a + 4;
  increase_on(one(), a, 5);
  size_t pitch = 10 * sizeof(float);
  return cudaMemcpy2DAsync(columns, pitch, b, pitch, 5 * sizeof(float), n / 10, cudaMemcpyDeviceToDevice, other());
})
SYNC(buffer_of_two_streams, {
  float* host = pinned(n);
  cudaMemcpyAsync(host, a, n * sizeof(float), cudaMemcpyDeviceToHost, one());
  other_waits(right);
  return cudaMemcpyAsync(host, b, n * sizeof(float), cudaMemcpyDeviceToHost, other());
})

HOST(buffer_that_is_filled_again, {
  float* host = pinned(n);
  cudaMemcpyAsync(a, host, n * sizeof(float), cudaMemcpyHostToDevice, one());
  if (right) cudaStreamSynchronize(one());
  host[1] = 2;
  return cudaSuccess;
})
HOST(buffer_that_is_read_early, {
  float* host = pinned(n);
  cudaMemcpyAsync(host, a, n * sizeof(float), cudaMemcpyDeviceToHost, one());
  if (right) cudaDeviceSynchronize();
  return host[1] == 0 ? 0 : -1;
})
HOST(rows_that_are_read_early, {
  float* host = pinned(n);
  size_t pitch = 10 * sizeof(float);
  cudaMemcpy2DAsync(host, pitch, a, pitch, 5 * sizeof(float), n / 10, cudaMemcpyDeviceToHost, one());
  return host[right ? 5 : 10] == (right ? 1 : 0) ? 0 : -1;
})

MEMORY(copy_of_too_many_bytes, {
  return cudaMemcpyAsync(b, a, (n + !right) * sizeof(float), cudaMemcpyDeviceToDevice, one());
})
MEMORY(fill_of_too_many_bytes, { return cudaMemset(a, 0, (n + !right) * sizeof(float)); })
