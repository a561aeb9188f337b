// The variables of shared memory that a library declares, `__shared__ float tile[32]`: thread-local ones, since each
// thread of the host runs one block.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace morph_cuda::sanitizer {

struct Variables {
  uintptr_t start = 0, bytes = 0;                    // of all of them, for this thread of the host
  std::vector<std::pair<uintptr_t, uintptr_t>> guards;  // where g++ keeps whether one is initialized, and the end

  bool has(uintptr_t address) const { return address - start < bytes; }
  bool is_guard(uintptr_t address) const;
};

Variables variables_beside(uintptr_t kernel);  // of the library that holds it

}  // namespace morph_cuda::sanitizer
