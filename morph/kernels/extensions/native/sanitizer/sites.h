// The line of the source that an instruction was compiled from.
#pragma once

#include <string>

namespace morph_cuda::sanitizer {

// "file:line (function)", of a user's source where the instruction is of a header of CUDA's. `site`: after a call.
std::string source_of(const void* site);

}  // namespace morph_cuda::sanitizer
