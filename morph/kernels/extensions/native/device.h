// What the runtime asks of the software device, by torch's own interfaces alone.
#pragma once

#include "morph/runtime.h"

#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstddef>
#include <utility>

namespace morph_cuda {

constexpr int kAssert = cudaErrorAssert;

c10::impl::VirtualGuardImpl device();
c10::Stream stream_of(cudaStream_t handle);  // of the current device
cudaStream_t handle_of(c10::Stream stream);
void refuse_in_capture(cudaStream_t stream);  // a launch that a graph would not hold
// These ask torch.cuda.
cudaDeviceProp properties_of(int device);
std::pair<size_t, size_t> memory_of(int device);  // free and total bytes

}  // namespace morph_cuda
