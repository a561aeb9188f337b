// Which allocation an address lies in, for the checks of a kernel's accesses.
#pragma once

#include <array>
#include <cstdint>

namespace software {

// Called by its address, by the library that runs kernels. Returns the device, or -1 where the address is not device
// memory. `range`: from where to where this answer holds; where the allocation starts and ends, as it was asked for;
// and whether it is one: 0 for memory that is free.
constexpr uintptr_t kLive = 1, kFreed = 2;  // kFreed: it was, and its memory is kept
int64_t locate(const void* pointer, std::array<uintptr_t, 5>& range);

}  // namespace software
