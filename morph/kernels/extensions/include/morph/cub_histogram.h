// cub::BlockHistogram, by atomic additions whichever algorithm is asked for.
#pragma once

#include "morph/cub_util.h"

namespace cub {

enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

template <class T, int X, int ITEMS, int BINS, BlockHistogramAlgorithm A = BLOCK_HISTO_SORT, int Y = 1, int Z = 1,
          int ARCH = 0>
class BlockHistogram {
 public:
  struct alignas(16) TempStorage { int unused; };
  BlockHistogram() = default;
  explicit BlockHistogram(TempStorage&) {}

  template <class C>
  void InitHistogram(C (&bins)[BINS]) {
    for (int i = morph_cuda::thread_rank(); i < BINS; i += X * Y * Z) bins[i] = 0;
  }
  template <class C>
  void Histogram(T (&items)[ITEMS], C (&bins)[BINS]) {
    InitHistogram(bins);
    __syncthreads();
    Composite(items, bins);
  }
  template <class C>
  void Composite(T (&items)[ITEMS], C (&bins)[BINS]) {
    if (A == BLOCK_HISTO_SORT) __syncthreads();
    for (const T& item : items) morph_cuda::update(&bins[item], [](C count) { return C(count + 1); });
  }
};

}  // namespace cub
