// A view of a device tensor as a CPU tensor on the same memory. The device's library and the collectives' use it.
#pragma once

#include "memory/hidden.h"

#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>

namespace software {

inline c10::Storage host_storage(void* data, size_t bytes) {
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), bytes, c10::DataPtr(data, c10::Device(c10::kCPU)), c10::GetCPUAllocator(), true));
}

inline c10::Storage host_view(const c10::Storage& storage) {
  return host_storage(usable(storage.mutable_data()), storage.nbytes());
}

// The memory of a lazy clone stays shared (copy on write): nobody may write to this view.
inline c10::Storage readable_host_view(const c10::Storage& storage) {
  return host_storage(usable(storage.data()), storage.nbytes());
}

// Where a tensor's elements are, for what runs on the host: of the device, or of the host.
template <class T = void>
const T* elements(const at::Tensor& tensor) {
  return static_cast<const T*>(usable(tensor.const_data_ptr()));
}
template <class T = void>
T* mutable_elements(const at::Tensor& tensor) {
  return static_cast<T*>(usable(tensor.mutable_data_ptr()));
}

inline at::Tensor host_view(const at::Tensor& tensor, c10::Storage storage) {
  auto keys = c10::DispatchKeySet(c10::DispatchKey::CPU);
  if (tensor.is_conj()) keys = keys.add(c10::DispatchKey::Conjugate);
  if (tensor.is_neg()) keys = keys.add(c10::DispatchKey::Negative);
  auto host = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, tensor.dtype());
  auto* raw = host.unsafeGetTensorImpl();
  raw->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) raw->set_wrapped_number(true);
  return host;
}

// A host tensor is returned unchanged.
inline at::Tensor host_view(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_cpu()) return tensor;
  return host_view(tensor, host_view(tensor.storage()));
}

inline at::Tensor readable_host_view(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_cpu()) return tensor;
  return host_view(tensor, readable_host_view(tensor.storage()));
}

}  // namespace software
