// See clock.h.
#include "clock.h"

#include <algorithm>

namespace morph_cuda::sanitizer {

void Knowledge::begin(uint32_t block, int threads) {
  block_ = block, of_all_ = fenced_ = 0;
  of_thread_.assign(size_t(threads), 0);
  of_lanes_.assign(size_t(threads + 31) / 32, Lanes{});
  of_blocks_.clear();
}

void Knowledge::pass_warp(int warp, unsigned lanes, uint32_t time) {
  Lanes& known = of_lanes_[size_t(warp)];
  for (unsigned own = lanes; own; own &= own - 1)
    for (unsigned other = lanes; other; other &= other - 1)
      known[size_t(__builtin_ctz(own))][size_t(__builtin_ctz(other))] = time;
}

void Knowledge::pass(const std::vector<int>& threads, uint32_t time) {
  for (int thread : threads) of_thread_[size_t(thread)] = time;
}

void Knowledge::acquire(int thread, uint32_t block, uint32_t time) {
  uint32_t& known = block == block_ ? of_thread_[size_t(thread)] : of_blocks_[block];
  known = std::max(known, time);
}

bool Knowledge::has(const Access& before, int thread) const {
  if (before.block != block_) {
    auto found = of_blocks_.find(before.block);
    return found != of_blocks_.end() && before.when <= found->second;
  }
  if (before.thread == thread || before.when <= of_all_ || before.when <= of_thread_[size_t(thread)]) return true;
  bool is_same_warp = before.thread >> 5 == thread >> 5;
  return is_same_warp && before.when <= of_lanes_[size_t(thread) >> 5][size_t(thread & 31)][before.thread & 31];
}

}  // namespace morph_cuda::sanitizer
