// Addresses of shared memory in 32 bits, and copies to it that end later.
#pragma once

#include <cstdint>

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

}  // namespace morph_cuda

inline size_t __cvta_generic_to_shared(const void* pointer) { return morph_cuda::shared_address(pointer); }
inline size_t __cvta_generic_to_global(const void* pointer) { return reinterpret_cast<size_t>(pointer); }
inline void* __cvta_shared_to_generic(size_t address) { return morph_cuda::shared(uint32_t(address)); }
inline void* __cvta_global_to_generic(size_t address) { return reinterpret_cast<void*>(address); }

inline void __pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zeros = 0) {
  morph_cuda::copy_later(to, from, size, zeros);
}
inline void __pipeline_commit() { morph_cuda::end_group_of_copies(); }
inline void __pipeline_wait_prior(size_t groups_left) { morph_cuda::wait_for_copies(groups_left); }
