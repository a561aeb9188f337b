// A view of a device tensor as a CPU tensor on the same memory.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>

namespace software {

c10::Storage host_view(const c10::Storage& storage);
at::Tensor host_view(const at::Tensor& tensor, c10::Storage storage);

// A host tensor is returned unchanged.
inline at::Tensor host_view(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_cpu()) return tensor;
  return host_view(tensor, host_view(tensor.storage()));
}

}  // namespace software
