// The statistics of a device's memory, as torch's caching allocators count it.
#include "memory/arena.h"

namespace software {

constinit thread_local bool holds_peaks = false;

// A loop, since each of its lines of code is one that the program's own displaces from the processor's cache.
void Figures::settle(bool large) {
  Pool &own = of_[large], &other = of_[!large];
  const bool raises = !holds_peaks;
#pragma GCC unroll 1
  for (size_t i = 0; i < noted_.size(); i++) {
    int64_t change = std::exchange(noted_[i], 0);
    int64_t now = own.now[i] += change;
    if (change <= 0) continue;
    own.taken[i] += change;
    if (!raises) continue;
    own.peak[i] = std::max(own.peak[i], now);
    peak_[i] = std::max(peak_[i], now + other.now[i]);
  }
}

c10::CachingAllocator::StatArray Figures::stats(Figure figure) const {
  auto i = size_t(figure);
  c10::CachingAllocator::StatArray all{};
  for (size_t pool = 0; pool < of_.size(); pool++) {
    const Pool& own = of_[pool];
    c10::CachingAllocator::Stat& stat = all[pool + 1];
    stat.current = own.now[i], stat.peak = own.peak[i], stat.allocated = own.taken[i];
    stat.freed = own.taken[i] + own.at_reset[i] - own.now[i];
    all[0].current += stat.current, all[0].allocated += stat.allocated, all[0].freed += stat.freed;
  }
  all[0].peak = peak_[i];
  return all;
}

void Figures::reset_peaks() {
  peak_ = {};
  for (Pool& pool : of_) pool.peak = {};
  raise_peaks();
}

void Figures::raise_peaks() {
#pragma GCC unroll 1
  for (size_t i = 0; i < peak_.size(); i++) {
    for (Pool& pool : of_) pool.peak[i] = std::max(pool.peak[i], pool.now[i]);
    peak_[i] = std::max(peak_[i], of_[0].now[i] + of_[1].now[i]);
  }
}

void Figures::reset_totals() {
  for (Pool& pool : of_) pool.taken = {}, pool.at_reset = pool.now;
}

void Arena::count_allocated(const Block* block, int sign) {
  figures_.note(Figure::kAllocation, sign);
  figures_.note(Figure::kAllocatedBytes, sign * int64_t(block->size));
  if (are_peaks_watched()) [[unlikely]] peaks_.count(block, sign * int64_t(block->size));
}

void Arena::count_active(const Block* block, int sign) {
  figures_.note(Figure::kActive, sign);
  figures_.note(Figure::kActiveBytes, sign * int64_t(block->size));
  figures_.note(Figure::kRequestedBytes, sign * int64_t(block->requested));
}

void Arena::count_inactive(const Block* block, int sign) {
  figures_.note(Figure::kInactiveSplit, sign);
  figures_.note(Figure::kInactiveSplitBytes, sign * int64_t(block->size));
}

void Arena::count_segment(const Segment& segment, int sign) {
  of_segments_.note(Figure::kSegment, sign);
  of_segments_.note(Figure::kReservedBytes, sign * int64_t(segment.size));
  of_segments_.settle(segment.large);
  if (are_peaks_watched()) [[unlikely]] peaks_.reserve(sign * int64_t(segment.size));
}

c10::CachingDeviceAllocator::DeviceStats Arena::stats() {
  std::lock_guard lock(lock_);
  c10::CachingDeviceAllocator::DeviceStats all = counts_;
  all.allocation = figures_.stats(Figure::kAllocation);
  all.allocated_bytes = figures_.stats(Figure::kAllocatedBytes);
  all.active = figures_.stats(Figure::kActive);
  all.active_bytes = figures_.stats(Figure::kActiveBytes);
  all.requested_bytes = figures_.stats(Figure::kRequestedBytes);
  all.inactive_split = figures_.stats(Figure::kInactiveSplit);
  all.inactive_split_bytes = figures_.stats(Figure::kInactiveSplitBytes);
  all.segment = of_segments_.stats(Figure::kSegment);
  all.reserved_bytes = of_segments_.stats(Figure::kReservedBytes);
  return all;
}

void Arena::reset_peaks() {
  std::lock_guard lock(lock_);
  for (Figures* each : {&figures_, &of_segments_}) each->reset_peaks();
}

void Arena::raise_peaks() {
  std::lock_guard lock(lock_);
  for (Figures* each : {&figures_, &of_segments_}) each->raise_peaks();
  if (are_peaks_watched()) [[unlikely]] peaks_.note();
}

void Arena::reset_totals() {
  std::lock_guard lock(lock_);
  for (Figures* each : {&figures_, &of_segments_}) each->reset_totals();
  counts_ = {};
  releases_ = 0;
}

}  // namespace software
