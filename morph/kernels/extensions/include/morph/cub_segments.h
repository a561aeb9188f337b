// CUB's sorts of many segments: each is sorted on its own, and what lies in none stays as it is.
#pragma once

#include "morph/cub_device.h"

namespace cub {

namespace detail {

template <bool DESCENDING, class K, class V, class B, class E>
cudaError_t sort_segments(void* storage, size_t& bytes, const K* keys, K* sorted_keys, const V* values, V* sorted_values,
                          int64_t segments, B begins, E ends, int first, int last, cudaStream_t stream) {
  morph_cuda::AlgorithmsAccess access("cub::DeviceSegmentedRadixSort", stream);
  if (asks_for_size(storage, bytes)) return cudaSuccess;
  for (int64_t i = 0; i < segments; i++) {
    int64_t begin = begins[i], n = int64_t(ends[i]) - begin;
    if (n <= 0) continue;
    const V* own = values ? values + begin : nullptr;
    V* sorted = values ? sorted_values + begin : nullptr;
    sort_on_device<DESCENDING>(access, keys + begin, sorted_keys + begin, own, sorted, size_t(n), first, last);
  }
  return cudaSuccess;
}

}  // namespace detail

struct DeviceSegmentedRadixSort {
  template <class K, class V, class N, class M, class B, class E>
  static cudaError_t SortPairs(void* storage, size_t& bytes, const K* keys, K* sorted_keys, const V* values, V* sorted_values, N,
                               M segments, B begins, E ends, int first = 0, int last = sizeof(K) * 8, cudaStream_t stream = nullptr) {
    return detail::sort_segments<false>(storage, bytes, keys, sorted_keys, values, sorted_values, segments, begins, ends, first, last, stream);
  }
  template <class K, class V, class N, class M, class B, class E>
  static cudaError_t SortPairsDescending(void* storage, size_t& bytes, const K* keys, K* sorted_keys, const V* values,
                                         V* sorted_values, N, M segments, B begins, E ends, int first = 0,
                                         int last = sizeof(K) * 8, cudaStream_t stream = nullptr) {
    return detail::sort_segments<true>(storage, bytes, keys, sorted_keys, values, sorted_values, segments, begins, ends, first, last, stream);
  }
  template <class K, class V, class N, class M, class B, class E>
  static cudaError_t SortPairs(void* storage, size_t& bytes, DoubleBuffer<K>& keys, DoubleBuffer<V>& values, N n, M segments,
                               B begins, E ends, int first = 0, int last = sizeof(K) * 8, cudaStream_t stream = nullptr) {
    bool asks = storage == nullptr;
    cudaError_t error = SortPairs(storage, bytes, keys.Current(), keys.Alternate(), values.Current(), values.Alternate(), n,
                                  segments, begins, ends, first, last, stream);
    if (!asks) keys.selector ^= 1, values.selector ^= 1;
    return error;
  }
  template <class K, class N, class M, class B, class E>
  static cudaError_t SortKeys(void* storage, size_t& bytes, const K* keys, K* sorted_keys, N, M segments, B begins, E ends,
                              int first = 0, int last = sizeof(K) * 8, cudaStream_t stream = nullptr) {
    const char* none = nullptr;
    return detail::sort_segments<false>(storage, bytes, keys, sorted_keys, none, const_cast<char*>(none), segments, begins, ends,
                                        first, last, stream);
  }
  template <class K, class N, class M, class B, class E>
  static cudaError_t SortKeysDescending(void* storage, size_t& bytes, const K* keys, K* sorted_keys, N, M segments, B begins, E ends,
                                        int first = 0, int last = sizeof(K) * 8, cudaStream_t stream = nullptr) {
    const char* none = nullptr;
    return detail::sort_segments<true>(storage, bytes, keys, sorted_keys, none, const_cast<char*>(none), segments, begins, ends,
                                       first, last, stream);
  }
};

}  // namespace cub
