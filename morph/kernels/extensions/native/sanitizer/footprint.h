// The bytes of device memory that a kernel reads and writes, for MORPH_SANITIZE=sync.
#pragma once

#include "order.h"
#include "watcher.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace morph_cuda::sanitizer {

class Footprint {
 public:
  void add(const sanitizer::Use& use);
  // To the device, which raises where other work need not be over that uses them.
  void queue(cudaStream_t stream) const;
  Pieces pieces() const;

 private:
  static constexpr uintptr_t kLine = 64;
  struct Line {  // a bit for each byte
    uint64_t read = 0, written = 0, atomic = 0;  // written by atomic operations
  };

  std::unordered_map<uintptr_t, Line> lines_;  // by the number of each
  const void* site_ = nullptr;                 // of an access
};

}  // namespace morph_cuda::sanitizer
