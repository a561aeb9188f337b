// The handles of cuBLAS, of which CUDA's torch makes one for each thread and device at its first product of matrices, and
// its workspaces, one for each handle and stream (aten/src/ATen/cuda/CublasHandlePool.cpp). Making a handle takes memory
// that torch does not count, which a capture may forbid; a workspace is memory of torch's allocator.
#pragma once

#include <c10/core/Device.h>

#include <optional>

namespace software {

// Raises torch's error where the current thread has no handle and a capture forbids making one, and OutOfMemoryError.
void need_cublas(c10::DeviceIndex device);

size_t cublas_workspace();  // bytes: as set, by CUBLAS_WORKSPACE_CONFIG, or torch's default
void set_cublas_workspace(std::optional<size_t> bytes);  // of those that are made from now on
void clear_cublas_workspaces();

}  // namespace software
