// The statistics of a device's memory, as torch's caching allocators count it.
#include "memory/arena.h"

namespace software {

constinit thread_local bool holds_peaks = false;

namespace {

inline void change(c10::CachingAllocator::Stat& stat, int64_t amount) {
  if (amount < 0) return stat.decrease(size_t(-amount));
  int64_t peak = stat.peak;
  stat.increase(size_t(amount));
  if (holds_peaks) stat.peak = peak;
}

inline void add(c10::CachingAllocator::StatArray& array, bool large, int64_t amount) {
  change(array[0], amount);
  change(array[large ? 2 : 1], amount);
}

}  // namespace

void Arena::count_allocated(const Block* block, int sign) {
  bool large = block->segment->large;
  add(stats_.allocation, large, sign);
  add(stats_.allocated_bytes, large, sign * int64_t(block->size));
  if (are_peaks_watched()) [[unlikely]] peaks_.count(block, sign * int64_t(block->size));
}

void Arena::count_active(const Block* block, int sign) {
  bool large = block->segment->large;
  add(stats_.active, large, sign);
  add(stats_.active_bytes, large, sign * int64_t(block->size));
  add(stats_.requested_bytes, large, sign * int64_t(block->requested));
}

void Arena::count_inactive(const Block* block, int sign) {
  inactive_.blocks += sign;
  inactive_.bytes += sign * int64_t(block->size);
}

// An allocation or a free counts as one change: a block that only shrinks was not freed.
void Arena::settle_inactive(bool large) {
  if (inactive_.blocks) add(stats_.inactive_split, large, inactive_.blocks);
  if (inactive_.bytes) add(stats_.inactive_split_bytes, large, inactive_.bytes);
  inactive_ = {};
}

void Arena::count_segment(const Segment& segment, int sign) {
  add(stats_.segment, segment.large, sign);
  add(stats_.reserved_bytes, segment.large, sign * int64_t(segment.size));
  if (are_peaks_watched()) [[unlikely]] peaks_.reserve(sign * int64_t(segment.size));
}

std::vector<Arena::StatArray*> Arena::all_stats() {
  return {&stats_.allocation,           &stats_.segment,         &stats_.active,
          &stats_.inactive_split,       &stats_.allocated_bytes, &stats_.reserved_bytes,
          &stats_.inactive_split_bytes, &stats_.active_bytes,    &stats_.requested_bytes};
}

c10::CachingDeviceAllocator::DeviceStats Arena::stats() {
  std::lock_guard lock(lock_);
  return stats_;
}

void Arena::reset_peaks() {
  std::lock_guard lock(lock_);
  for (StatArray* array : all_stats())
    for (auto& stat : *array) stat.reset_peak();
}

void Arena::raise_peaks() {
  std::lock_guard lock(lock_);
  for (StatArray* array : all_stats())
    for (auto& stat : *array) stat.peak = std::max(stat.peak, stat.current);
  if (are_peaks_watched()) [[unlikely]] peaks_.note();
}

void Arena::reset_totals() {
  std::lock_guard lock(lock_);
  for (StatArray* array : all_stats())
    for (auto& stat : *array) stat.reset_accumulated();
  stats_.num_alloc_retries = stats_.num_ooms = releases_ = 0;
  stats_.num_device_alloc = stats_.num_device_free = 0;
}

}  // namespace software
