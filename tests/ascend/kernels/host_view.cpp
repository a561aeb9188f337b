#include "kernels/host_view.h"

#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstring>

namespace soft_cann {
namespace {

// A storage that does not own its memory.
c10::Storage over_same_memory(const c10::Storage &storage) {
  c10::DataPtr borrowed(storage.mutable_data(), c10::Device(c10::kCPU));
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(),
                                                            storage.sym_nbytes(), std::move(borrowed),
                                                            c10::GetCPUAllocator(), /*resizable=*/true));
}

c10::DispatchKeySet host_keys(const at::Tensor &tensor) {
  c10::DispatchKeySet keys(c10::DispatchKey::CPU);
  if (tensor.is_conj()) keys = keys.add(c10::DispatchKey::Conjugate);
  if (tensor.is_neg()) keys = keys.add(c10::DispatchKey::Negative);
  return keys;
}

// For tensors of equal sizes and strides.
void copy_memory(const at::Tensor &device, const at::Tensor &host) {
  if (host.numel() == 0) return;
  int64_t last = 0;
  for (int64_t i = 0; i < host.dim(); i++) last += (host.size(i) - 1) * host.stride(i);
  std::memcpy(device.mutable_data_ptr(), host.const_data_ptr(), size_t(last + 1) * host.element_size());
}

void follow_resize(at::Tensor &device, const at::Tensor &host) {
  bool moved = host.storage().data_ptr().get() != device.storage().data_ptr().get();
  if (host.sizes() != device.sizes()) device.resize_(host.sizes());
  if (host.strides() != device.strides())
    device.unsafeGetTensorImpl()->set_sizes_and_strides(host.sizes(), host.strides());
  if (moved) copy_memory(device, host);
}

}  // namespace

c10::Device HostView::device() const {
  return device_ ? *device_ : c10::impl::VirtualGuardImpl(c10::DeviceType::PrivateUse1).getDevice();
}

const c10::Storage &HostView::host_storage(const at::Tensor &tensor) {
  for (auto &shared : storages_)
    if (shared.owner.storage().is_alias_of(tensor.storage())) return shared.host;
  storages_.push_back({over_same_memory(tensor.storage()), tensor});
  return storages_.back().host;
}

at::Tensor HostView::to_host(const at::Tensor &tensor) {
  if (!on_device(tensor)) return tensor;
  if (tensor.layout() != c10::kStrided) return tensor.cpu();
  if (!device_) device_ = tensor.device();
  for (auto &pair : pairs_)
    if (pair.device.is_same(tensor)) return pair.host;
  auto host = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(host_storage(tensor)), host_keys(tensor),
                                                       tensor.dtype());
  auto *impl = host.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(tensor.sym_sizes(), tensor.sym_strides(), tensor.sym_storage_offset());
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
  pairs_.push_back({tensor, host});
  return host;
}

at::Tensor HostView::to_device(const at::Tensor &tensor) {
  if (!tensor.defined() || !tensor.is_cpu()) return tensor;
  if (tensor.layout() != c10::kStrided) return tensor.to(device());
  for (auto &pair : pairs_)
    if (pair.host.is_same(tensor)) return pair.device;
  for (auto &shared : storages_)
    if (shared.host.is_alias_of(tensor.storage()))
      return at::as_strided(shared.owner, tensor.sizes(), tensor.strides(), tensor.storage_offset());
  at::Tensor dense = tensor.is_non_overlapping_and_dense() ? tensor : tensor.contiguous();
  auto options = dense.options().device(device()).pinned_memory(false);
  at::Tensor copy = at::empty_strided(dense.sizes(), dense.strides(), options);
  copy_memory(copy, dense);
  return copy;
}

void HostView::follow_resizes() {
  for (auto &[device, host] : pairs_) {
    bool moved = host.storage().data_ptr().get() != device.storage().data_ptr().get();
    if (moved || host.sizes() != device.sizes() || host.strides() != device.strides()) follow_resize(device, host);
  }
}

}  // namespace soft_cann
