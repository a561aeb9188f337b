// An address that is not mapped ends a kernel's launch with an error, as on a GPU, and not the process.
#pragma once

namespace morph_cuda {

void catch_faults();  // from now on; faults outside of kernels are for who handled them before

}  // namespace morph_cuda
