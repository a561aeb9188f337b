// Algorithms of thrust and CUB.
#include "twins.h"

#include <cub/cub.cuh>
#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/fill.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>

// What CUB asks for at first; its algorithms wait for nothing.
template <class F>
static int with_storage(F algorithm) {
  static float* storage = nullptr;
  if (!storage) cudaMalloc(&storage, 1 << 16);
  size_t bytes = 0;
  algorithm(nullptr, bytes);
  return algorithm(storage, bytes);
}

SYNC(sort_of_another_stream, {
  increase_on(one(), a, n);
  other_waits(right);
  thrust::sort(thrust::cuda::par.on(other()), a, a + n);
  return 0;
})
SYNC(copy_of_another_stream, {
  increase_on(one(), a, n);
  other_waits(right);
  thrust::copy(thrust::cuda::par.on(other()), a, a + n, b);
  return 0;
})
SYNC(change_after_a_sort, {
  thrust::sort(thrust::cuda::par_nosync.on(one()), a, a + n);
  other_waits(right);
  increase_on(other(), a, n);
  return 0;
})
SYNC(change_after_a_fill, {  // which is waited for by default
  thrust::fill((right ? thrust::cuda::par : thrust::cuda::par_nosync).on(one()), a, a + n, 1.f);
  increase_on(other(), a, n);
  return 0;
})
SYNC(scan_of_another_stream, {
  increase_on(one(), a, n);
  other_waits(right);
  return with_storage([&](void* storage, size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(storage, bytes, a, b, n, other());
  });
})
SYNC(change_after_a_reduction, {
  with_storage([&](void* storage, size_t& bytes) { return cub::DeviceReduce::Sum(storage, bytes, a, b, n, one()); });
  other_waits(right);
  increase_on(other(), b, 1);
  return 0;
})
SYNC(change_after_a_radix_sort, {
  with_storage([&](void* storage, size_t& bytes) { return cub::DeviceRadixSort::SortKeys(storage, bytes, a, b, n, 0, 32, one()); });
  other_waits(right);
  increase_on(other(), b, n);
  return 0;
})
SYNC(change_after_a_segmented_sort, {  // of twice ten numbers
  static int* ends = nullptr;
  if (!ends) {
    int host[] = {0, 10, 20};
    cudaMalloc(&ends, sizeof host);
    cudaMemcpy(ends, host, sizeof host, cudaMemcpyHostToDevice);
    cudaDeviceSynchronize();
  }
  with_storage([&](void* storage, size_t& bytes) {
    return cub::DeviceSegmentedRadixSort::SortKeys(storage, bytes, a, b, n, 2, ends, ends + 1, 0, 32, one());
  });
  other_waits(right);
  increase_on(other(), b, 1);
  return 0;
})
MEMORY(fill_over_the_end, {
  thrust::fill(thrust::device, a, a + n + !right, 1.f);
  return 0;
})
MEMORY(sum_over_the_end, {
  return with_storage([&](void* storage, size_t& bytes) { return cub::DeviceReduce::Sum(storage, bytes, a, b, n + !right); });
})
MEMORY(radix_sort_over_the_end, {
  return with_storage([&](void* storage, size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(storage, bytes, a, b, n + !right);
  });
})
