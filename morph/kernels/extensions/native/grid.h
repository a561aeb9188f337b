// The blocks of a launch.
#pragma once

#include "morph/launch.h"
#include "sanitizer/checks.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace morph_cuda {

class Block;

// Torch's threads take one block after the other. Where a block waits for another that none of them has begun, a further
// thread of the host begins it.
class Grid {
 public:
  Grid(dim3 grid, dim3 block, size_t shared, cudaStream_t stream, const Launched& what, void* closure);
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  static Grid* of_this_thread();

  void run();  // throws what a thread of a block threw
  bool is_cooperative() const { return cooperative_; }

  // Called by a block's thread.
  void wait_for_another();
  void wait_for_all();  // by one thread of each block

 private:
  void run_blocks(int64_t most);
  bool has_regions() const;
  int64_t grain() const;  // blocks
  void run_some(Block& turns, int64_t from, int64_t to);
  void begin_another();
  void end_with(std::exception_ptr error);

  dim3 grid_, block_;
  size_t shared_;
  cudaStream_t stream_;
  const Launched& what_;
  void* closure_;
  const bool cooperative_;
  const uint64_t shuffle_;
  const int64_t blocks_;
  std::vector<int64_t> order_;  // empty: by number
  std::atomic<int64_t> next_{0}, steps_{0}, arrived_{0}, rounds_{0};
  std::atomic<bool> failed_{false};
  std::mutex lock_;
  std::vector<std::thread> further_;
  std::exception_ptr error_;
  const std::unique_ptr<sanitizer::Launch> checked_;  // null: nothing is checked
};

void set_launching();
bool is_launching();  // whether this thread of the host launched the blocks that it runs

}  // namespace morph_cuda
