// How torch's statistics of memory change. Each is kept three times: of all blocks, of the small and of the large ones.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>

namespace software {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;

extern constinit thread_local bool holds_peaks;  // what this thread takes does not raise them yet

inline void change(Stat& stat, int64_t amount) {
  if (amount < 0) return stat.decrease(size_t(-amount));
  int64_t peak = stat.peak;
  stat.increase(size_t(amount));
  if (holds_peaks) stat.peak = peak;
}

inline void add(StatArray& array, bool large, int64_t amount) {
  change(array[0], amount);
  change(array[large ? 2 : 1], amount);
}

// Of small blocks: what was given back and taken again.
inline void pass(StatArray& array, int64_t amount) {
  for (auto* stat : {&array[0], &array[1]}) stat->allocated += amount, stat->freed += amount;
}
inline void raise_for_a_while(StatArray& array, int64_t amount) {
  if (amount <= 0 || holds_peaks) return;
  for (auto* stat : {&array[0], &array[1]}) stat->peak = std::max(stat->peak, stat->current + amount);
}

}  // namespace software
