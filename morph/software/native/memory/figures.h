// A device's statistics of small blocks, of large ones, and of both: what there is now, the most there was, and what was
// taken and given back in all. Every allocation and free changes seven of them, so that the hot numbers lie together.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <array>
#include <cstdint>

namespace software {

extern constinit thread_local bool holds_peaks;  // what this thread takes does not raise them yet

enum class Figure : size_t {
  kAllocation, kAllocatedBytes, kActive, kActiveBytes, kRequestedBytes, kInactiveSplit, kInactiveSplitBytes, kUnused,
  kSegment = kAllocation, kReservedBytes = kAllocatedBytes,  // of segments, which have figures of their own
};

class Figures {
 public:
  // What is noted counts when it is settled, as one change: a block that only shrinks was not freed.
  void note(Figure figure, int64_t change) { noted_[size_t(figure)] += change; }
  void settle(bool large);

  int64_t current(Figure figure) const { return of_[0].now[size_t(figure)] + of_[1].now[size_t(figure)]; }
  c10::CachingAllocator::StatArray stats(Figure figure) const;
  void reset_peaks();
  void raise_peaks();
  void reset_totals();

 private:
  using Numbers = std::array<int64_t, 8>;
  struct alignas(64) Pool {
    Numbers now{}, taken{}, peak{}, at_reset{};  // what was given back: taken + at_reset - now
  };
  alignas(64) Numbers noted_{};
  Numbers peak_{};  // of both pools together
  std::array<Pool, 2> of_;
};

}  // namespace software
