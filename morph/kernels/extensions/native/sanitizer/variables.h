// The variables of shared memory that a library declares, `__shared__ float tile[32]`: thread-local ones, since each
// thread of the host runs one block.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace morph_cuda::sanitizer {

constexpr uintptr_t kZoneBetween = 256;  // bytes of nothing after each (zones.py)

struct Variable {
  uintptr_t start, end;
  std::string name;  // mangled
};

struct Variables {
  uintptr_t start = 0, bytes = 0;  // of all thread-local memory of the library, for this thread of the host
  std::vector<Variable> shared;    // by their places
  std::vector<Variable> guards;    // where g++ keeps whether a variable is initialized

  bool has(uintptr_t address) const { return address - start < bytes; }
  bool is_guard(uintptr_t address) const;
  const Variable* around(uintptr_t address) const;  // or the zone after it; null: none
  const Variable* before(uintptr_t address, size_t size) const;  // over whose end the bytes reach; null: none
};

Variables variables_beside(uintptr_t kernel);  // of the library that holds it
std::string source_name(const Variable& variable);  // as in the source

}  // namespace morph_cuda::sanitizer
