// The handles of cuBLAS, of which CUDA's torch makes one for each thread and device at its first product of matrices
// (aten/src/ATen/cuda/CublasHandlePool.cpp). Making one takes memory, which a capture may forbid.
#pragma once

#include <c10/core/Device.h>

namespace software {

// Raises torch's error where the current thread has no handle and a capture forbids making one.
void need_cublas(c10::DeviceIndex device);

}  // namespace software
