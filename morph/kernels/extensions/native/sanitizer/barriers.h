// Whether the threads of a block use its barriers, and those of their warps, as CUDA asks.
#pragma once

#include "morph/vectors.h"

#include <cstdint>
#include <string>
#include <vector>

namespace morph_cuda::sanitizer {

class Barriers {  // of one block
 public:
  struct Waiting {
    int thread;
    const void* site;
  };

  void begin(int64_t number, dim3 size) { number_ = number, size_ = size, passed_ = false, ended_ = -1; }
  void pass() { passed_ = true; }
  // Before its first barrier a thread may end.
  void end_thread(int thread) {
    if (passed_ && ended_ < 0) ended_ = thread;
  }

  // What is wrong with it, as an error; empty: nothing.
  std::string problem(const std::vector<Waiting>& waiting) const;  // of the block's barrier
  std::string problem(unsigned mask, const Waiting& waiting) const;  // of a barrier of a warp

 private:
  std::string line(const Waiting& waiting) const;
  std::string name(int thread) const;

  int64_t number_ = 0;
  dim3 size_;
  bool passed_ = false;
  int ended_ = -1;  // a thread that took part in a barrier before
};

}  // namespace morph_cuda::sanitizer
