// The line of the source that an instruction was compiled from.
#pragma once

#include <string>

namespace morph_cuda::sanitizer {

// "file:line (function)", of a user's source where the instruction is of a header of CUDA's. `site`: after a call.
std::string source_of(const void* site);
std::string function_of(const void* site);  // the outermost of the user's that holds it: the kernel
// From now on work and memory are told with the lines of the program that `inside` is of, which are not Python's.
void tell_lines_of(const void* inside);

}  // namespace morph_cuda::sanitizer
