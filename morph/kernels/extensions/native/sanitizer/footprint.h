// The bytes of device memory that a kernel reads and writes, for MORPH_SANITIZE=sync.
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace morph_cuda::sanitizer {

bool is_order_watched();  // MORPH_SANITIZE=sync

class Footprint {
 public:
  void add(uintptr_t address, size_t bytes, bool writes, const void* site);
  // To the device, which raises where other work need not be over that uses them.
  void queue(cudaStream_t stream) const;

 private:
  static constexpr uintptr_t kLine = 64;
  struct Line {  // a bit for each byte
    uint64_t read = 0, written = 0;
  };

  std::unordered_map<uintptr_t, Line> lines_;  // by the number of each
  const void* site_ = nullptr;                 // of an access
};

// Of a stream that is made without cudaStreamNonBlocking: it and the default stream wait for each other.
void note_blocking(cudaStream_t stream);

}  // namespace morph_cuda::sanitizer
