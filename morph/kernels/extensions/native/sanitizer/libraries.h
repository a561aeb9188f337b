// The libraries whose accesses to memory are told of: those that nvcc compiled with MORPH_SANITIZE.
#pragma once

#include <cstdint>

namespace morph_cuda::sanitizer {

void add_library(const void* place);    // the one that holds it
void warn_if_unchecked(uintptr_t kernel);  // once for each library

}  // namespace morph_cuda::sanitizer
