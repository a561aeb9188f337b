// An address that is not mapped ends a kernel's launch with an error, as on a GPU, and not the process.
#pragma once

namespace morph_cuda {

// From now on, on this thread of the host; faults outside of kernels are for who handled them before.
void catch_faults();

}  // namespace morph_cuda
