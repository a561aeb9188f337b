// Views of device tensors that no kernel has kept are used again, by the thread that made them: to make one and to
// destroy it takes longer than a small operator's own work.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>

namespace software {

class Views {
 public:
  static Views& of_this_thread();
  ~Views() { count_ = kMost + 1; }  // at the end of the thread: neither gives nor takes

  at::Tensor again(const at::Tensor& tensor, bool reads);  // undefined: there is none to use
  void keep(at::Tensor&& view);                // not if anything but its place and shape has changed

 private:
  static constexpr size_t kMost = 32;
  std::array<at::Tensor, kMost> views_;
  size_t count_ = 0;
};

}  // namespace software
