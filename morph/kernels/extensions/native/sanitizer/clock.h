// Which accesses of other threads a thread comes after, by the barriers, fences and atomic operations in between.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace morph_cuda::sanitizer {

struct Access {
  uint32_t launch = 0, when = 0, block = 0;
  uint16_t thread = 0;
  uint8_t bytes = 0;  // of the word, a bit for each
  bool is_atomic = false;
  const void* site = nullptr;
};

// The time of a launch: an access has the time since the last event, and an event ends that time.
class Clock {
 public:
  uint32_t now() const { return now_; }
  uint32_t end() { return now_++; }

 private:
  std::atomic<uint32_t> now_{1};
};

// One block's knowledge. Where a part of a warp, a named barrier or a lock orders some threads only, more is taken as
// known than is: a race may be missed so, but none is made up.
class Knowledge {
 public:
  void begin(uint32_t block, int threads);
  void pass_barrier(uint32_t time) { of_all_ = time; }
  void pass_warp(int warp, unsigned lanes, uint32_t time);
  void pass(const std::vector<int>& threads, uint32_t time);
  void fence(uint32_t time) { fenced_ = time; }
  void acquire(int thread, uint32_t block, uint32_t time);

  uint32_t fenced() const { return fenced_; }
  uint32_t block() const { return block_; }
  bool has(const Access& before, int thread) const;

 private:
  using Lanes = std::array<std::array<uint32_t, 32>, 32>;
  uint32_t block_ = 0, of_all_ = 0, fenced_ = 0;
  std::vector<uint32_t> of_thread_;
  std::vector<Lanes> of_lanes_;
  std::unordered_map<uint32_t, uint32_t> of_blocks_;
};

}  // namespace morph_cuda::sanitizer
