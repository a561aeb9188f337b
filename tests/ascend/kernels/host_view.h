// The device's tensors of one call, seen as tensors of the host over the same memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <utility>
#include <vector>

namespace soft_cann {

inline bool on_device(const at::Tensor &tensor) { return tensor.defined() && tensor.is_privateuseone(); }

class HostView {
 public:
  // Not copied, unless it is sparse. Undefined tensors and those of the host are returned themselves.
  at::Tensor to_host(const at::Tensor &tensor);

  // An argument, or a view of one, becomes the device's again; anything new is copied once.
  at::Tensor to_device(const at::Tensor &tensor);

  // Carries over what the kernel resized (`out=` arguments).
  void follow_resizes();

  // The device that an argument names, else that of the first tensor on one, else the current one.
  c10::Device device() const;
  void set_device(c10::Device device) {
    if (device.has_index()) device_ = device;
  }

 private:
  struct SharedStorage {
    c10::Storage host;
    at::Tensor owner;  // a tensor of the device on the same memory
  };
  struct Pair {
    at::Tensor device, host;
  };

  const c10::Storage &host_storage(const at::Tensor &tensor);

  std::optional<c10::Device> device_;
  std::vector<SharedStorage> storages_;
  std::vector<Pair> pairs_;
};

}  // namespace soft_cann
