// CUB's sort of what a block's threads hold, stable as a radix sort is: one thread sorts for all.
#pragma once

#include "morph/cub_device.h"

namespace cub {

template <class K, int X, int ITEMS, class V = NullType, int RADIX_BITS = 4, bool MEMOIZES = true,
          BlockScanAlgorithm A = BLOCK_SCAN_WARP_SCANS, int CONFIG = 0, int Y = 1, int Z = 1, int ARCH = 0>
class BlockRadixSort {
  static constexpr int kThreads = X * Y * Z, kCount = kThreads * ITEMS, kBits = sizeof(K) * 8;
  static constexpr bool kPairs = !std::is_same_v<V, NullType>;

 public:
  struct alignas(16) TempStorage {
    SharedValues<K, kCount> keys;
    std::conditional_t<kPairs, SharedValues<V, kCount>, NullType> values;
  };
  BlockRadixSort() : storage_(own_storage<TempStorage>()) {}
  explicit BlockRadixSort(TempStorage& storage) : storage_(storage) {}

  void Sort(K (&keys)[ITEMS], int first = 0, int last = kBits) { sort<false, false>(keys, nullptr, first, last); }
  void Sort(K (&keys)[ITEMS], V (&values)[ITEMS], int first = 0, int last = kBits) {
    sort<false, false>(keys, values, first, last);
  }
  void SortDescending(K (&keys)[ITEMS], int first = 0, int last = kBits) { sort<true, false>(keys, nullptr, first, last); }
  void SortDescending(K (&keys)[ITEMS], V (&values)[ITEMS], int first = 0, int last = kBits) {
    sort<true, false>(keys, values, first, last);
  }
  void SortBlockedToStriped(K (&keys)[ITEMS], int first = 0, int last = kBits) {
    sort<false, true>(keys, nullptr, first, last);
  }
  void SortBlockedToStriped(K (&keys)[ITEMS], V (&values)[ITEMS], int first = 0, int last = kBits) {
    sort<false, true>(keys, values, first, last);
  }
  void SortDescendingBlockedToStriped(K (&keys)[ITEMS], int first = 0, int last = kBits) {
    sort<true, true>(keys, nullptr, first, last);
  }
  void SortDescendingBlockedToStriped(K (&keys)[ITEMS], V (&values)[ITEMS], int first = 0, int last = kBits) {
    sort<true, true>(keys, values, first, last);
  }

 private:
  template <bool DESCENDING, bool STRIPED>
  void sort(K* keys, V* values, int first, int last) {
    int rank = morph_cuda::thread_rank();
    for (int i = 0; i < ITEMS; i++) put(rank * ITEMS + i, keys[i], values ? &values[i] : nullptr);
    __syncthreads();
    if (rank == 0) sort_all<DESCENDING>(first, last);
    __syncthreads();
    for (int i = 0; i < ITEMS; i++) {
      int place = STRIPED ? rank + i * kThreads : rank * ITEMS + i;
      keys[i] = storage_.keys[place];
      if constexpr (kPairs)
        if (values) values[i] = storage_.values[place];
    }
  }
  void put(int place, const K& key, const V* value) {
    storage_.keys[place] = key;
    if constexpr (kPairs)
      if (value) storage_.values[place] = *value;
  }
  template <bool DESCENDING>
  void sort_all(int first, int last) {
    K* keys = &storage_.keys[0];
    V* values = nullptr;
    if constexpr (kPairs) values = &storage_.values[0];
    detail::sort<DESCENDING>(keys, keys, values, values, size_t(kCount), first, last);
  }

  TempStorage& storage_;
};

}  // namespace cub
