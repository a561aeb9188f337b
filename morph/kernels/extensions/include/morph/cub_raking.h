// cub::BlockRakingLayout: where the values of a block lie that one warp goes over, a segment for each lane.
#pragma once

#include "morph/cub_util.h"

namespace cub {

template <class T, int THREADS, int ARCH = 0>
struct BlockRakingLayout {
  static constexpr int SHARED_ELEMENTS = THREADS;
  static constexpr int MAX_RAKING_THREADS = CUB_MIN(THREADS, 32);
  static constexpr int SEGMENT_LENGTH = CUB_QUOTIENT_CEILING(SHARED_ELEMENTS, MAX_RAKING_THREADS);
  static constexpr int RAKING_THREADS = CUB_QUOTIENT_CEILING(SHARED_ELEMENTS, SEGMENT_LENGTH);
  static constexpr bool HAS_CONFLICTS = 32 % SEGMENT_LENGTH == 0;
  static constexpr int CONFLICT_DEGREE = HAS_CONFLICTS ? MAX_RAKING_THREADS * SEGMENT_LENGTH / 32 : 1;
  static constexpr int USE_SEGMENT_PADDING = SEGMENT_LENGTH > 2 && SEGMENT_LENGTH % 2 == 0;
  static constexpr int GRID_ELEMENTS = RAKING_THREADS * (SEGMENT_LENGTH + USE_SEGMENT_PADDING);
  static constexpr bool UNGUARDED = SHARED_ELEMENTS % RAKING_THREADS == 0;

  struct alignas(16) _TempStorage { T buff[GRID_ELEMENTS]; };
  struct TempStorage : Uninitialized<_TempStorage> {};

  static T* PlacementPtr(TempStorage& storage, unsigned thread) {
    return storage.Alias().buff + thread + (USE_SEGMENT_PADDING ? thread / SEGMENT_LENGTH : 0);
  }
  static T* RakingPtr(TempStorage& storage, unsigned thread) {
    return storage.Alias().buff + thread * (SEGMENT_LENGTH + USE_SEGMENT_PADDING);
  }
};

}  // namespace cub
