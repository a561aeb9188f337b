// Whether an access of a kernel lies in an allocation of device memory.
#pragma once

#include <cstdint>
#include <string>

namespace morph_cuda::sanitizer {

// What is wrong with the access; empty: nothing that can be told.
std::string problem_of(uintptr_t address, size_t bytes);
void forget_bounds();  // memory may have been taken and freed since

}  // namespace morph_cuda::sanitizer
