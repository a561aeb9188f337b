// Addresses of shared memory in 32 bits, and copies to it that may end later: here they end at once.
#pragma once

#include <cstdint>
#include <cstring>

#include "morph/threads.h"

namespace morph_cuda {

// Beside it lie the variables of shared memory of this library.
__attribute__((visibility("hidden"))) inline thread_local unsigned char beside_shared = 0;

// An address is the distance from a place with the same low bits, either in the memory that a launch asks for (the first
// bit is set) or among the variables.
constexpr uintptr_t kWindow = 1 << 20, kLowBits = 0xffff;
constexpr uint32_t kOfLaunch = 0x80000000u;

inline uintptr_t base_of(const void* place) { return reinterpret_cast<uintptr_t>(place) & ~kLowBits; }
inline uint32_t shared_address(const void* pointer) {
  uintptr_t whole = reinterpret_cast<uintptr_t>(pointer), distance = whole - base_of(dynamic_shared());
  if (distance < kWindow) return kOfLaunch | uint32_t(distance);
  return uint32_t(whole - base_of(&beside_shared)) & ~kOfLaunch;
}
inline unsigned char* shared(uint32_t address) {
  bool of_launch = address & kOfLaunch;
  const void* beside = of_launch ? dynamic_shared() : &beside_shared;
  intptr_t distance = of_launch ? intptr_t(address & ~kOfLaunch) : intptr_t(int32_t(address << 1) >> 1);
  return reinterpret_cast<unsigned char*>(base_of(beside) + distance);
}

// Of `size` bytes the last `zeros` are 0.
inline void copy(void* to, const void* from, size_t size, size_t zeros) {
  if (zeros > size) zeros = size;
  std::memcpy(to, from, size - zeros);
  std::memset(static_cast<unsigned char*>(to) + size - zeros, 0, zeros);
}

}  // namespace morph_cuda

inline size_t __cvta_generic_to_shared(const void* pointer) { return morph_cuda::shared_address(pointer); }
inline size_t __cvta_generic_to_global(const void* pointer) { return reinterpret_cast<size_t>(pointer); }
inline void* __cvta_shared_to_generic(size_t address) { return morph_cuda::shared(uint32_t(address)); }
inline void* __cvta_global_to_generic(size_t address) { return reinterpret_cast<void*>(address); }

inline void __pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zeros = 0) {
  morph_cuda::copy(to, from, size, zeros);
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(size_t) {}
