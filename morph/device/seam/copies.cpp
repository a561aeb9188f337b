// Copies with non_blocking=True between the target and memory of the host that is not pinned end before they return,
// as CUDA's do: the vendor's read and write that memory later, when the program may have changed or freed it. Those of
// pinned memory come after those before them, as on a stream: torch_tpu's do not, and write to memory that was freed
// (0.2.0).
#include "kernel.h"
#include "seam.h"

#include <ATen/core/Tensor.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace seam {
namespace {

using torch::jit::Stack;

Over& copying = *new Over;  // never destroyed: at exit other threads may still dispatch
Notice& unpinned_notice = *new Notice;
std::atomic<bool> is_without_pinned{false};

c10::IValue& argument(const c10::OperatorHandle& op, Stack& stack, const char* name) {
  auto index = size_t(*op.schema().argumentIndexWithName(name));
  return stack[stack.size() - op.schema().arguments().size() + index];
}

bool is_pageable(const c10::IValue& value) {
  if (value.isTensorList()) {
    auto tensors = value.toTensorVector();
    return std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& each) { return is_pageable(each); });
  }
  const at::Tensor& tensor = value.toTensor();
  return tensor.is_cpu() && (is_without_pinned || !tensor.is_pinned());
}

// Copies that may not have ended, by the pinned memory that they read or write. What one writes to lives on until then.
class Outstanding {
 public:
  void wait_for(const at::Tensor& host, bool is_written) {
    std::lock_guard lock(mutex_);
    for (const Copy& each : copies_)
      if (each.memory._unsafe_get_target() == memory_of(host) && (is_written || each.written)) return wait();
  }
  void add_read(const at::Tensor& host) {
    std::lock_guard lock(mutex_);
    auto is_needless = [&](const Copy& each) {
      return each.memory.expired() || (!each.written && each.memory._unsafe_get_target() == memory_of(host));
    };
    copies_.erase(std::remove_if(copies_.begin(), copies_.end(), is_needless), copies_.end());
    copies_.push_back({weak(host), {}});
  }
  void add_written(const at::Tensor& host) {
    std::lock_guard lock(mutex_);
    copies_.push_back({weak(host), host.storage()});
    if ((bytes_written_ += host.nbytes()) >= kMostBytes || copies_.size() >= kMost) wait();
  }
  void wait_for_all() {
    std::lock_guard lock(mutex_);
    if (!copies_.empty()) wait();
  }

 private:
  struct Copy {
    c10::weak_intrusive_ptr<c10::StorageImpl> memory;
    c10::Storage written;
  };
  static constexpr size_t kMost = 1024, kMostBytes = size_t{256} << 20;

  static c10::StorageImpl* memory_of(const at::Tensor& host) { return host.storage().unsafeGetStorageImpl(); }
  static c10::weak_intrusive_ptr<c10::StorageImpl> weak(const at::Tensor& host) {
    return c10::weak_intrusive_ptr<c10::StorageImpl>(host.storage().getWeakStorageImpl());
  }
  void wait() {
    c10::impl::VirtualGuardImpl guard(target());
    guard.synchronizeDevice(guard.getDevice().index());
    copies_.clear();
    bytes_written_ = 0;
  }

  std::mutex mutex_;
  std::vector<Copy> copies_;
  size_t bytes_written_ = 0;
};
Outstanding& outstanding = *new Outstanding;

bool is_on_target(const at::Tensor& tensor) { return tensor.device().type() == target(); }

void wait_for_copies_of(const at::Tensor& written, const at::Tensor& read) {
  if (written.is_cpu() && is_on_target(read)) outstanding.wait_for(written, true);
  if (read.is_cpu() && is_on_target(written)) outstanding.wait_for(read, false);
}

void keep(const at::Tensor& written, const at::Tensor& read) {
  if (written.is_cpu() && is_on_target(read)) outstanding.add_written(written);
  if (read.is_cpu() && is_on_target(written)) outstanding.add_read(read);
}

template <class Function>
void for_each_copy(const c10::IValue& written, const c10::IValue& read, Function function) {
  if (written.isTensor()) return function(written.toTensor(), read.toTensor());
  auto targets = written.toTensorVector(), sources = read.toTensorVector();
  for (size_t i = 0; i < std::min(targets.size(), sources.size()); ++i) function(targets[i], sources[i]);
}

void copy_in_order(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  c10::IValue written = argument(op, *stack, "self"), read = argument(op, *stack, "src");
  c10::IValue& non_blocking = argument(op, *stack, "non_blocking");
  if (non_blocking.toBool() && (is_pageable(written) || is_pageable(read))) non_blocking = false;
  bool goes_on = non_blocking.toBool();
  for_each_copy(written, read, wait_for_copies_of);
  copying.call_targets(op, keys, stack);
  if (goes_on) for_each_copy(written, read, keep);
}

// To new memory of the host, which is pinned, as CUDA's; where the vendor can pin none, the copy ends first.
void move_to_host(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  Stack again = *stack;
  try {
    copying.call_targets(op, keys, stack);
    return outstanding.add_written(stack->back().toTensor());
  } catch (const c10::NotImplementedError&) {
    *stack = std::move(again);
    is_without_pinned = true;
    unpinned_notice.say();
  }
  argument(op, *stack, "non_blocking") = false;
  copying.call_targets(op, keys, stack);
}

void move_in_order(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  at::Tensor read = argument(op, *stack, "self").toTensor();
  c10::IValue& non_blocking = argument(op, *stack, "non_blocking");
  const c10::IValue& device = argument(op, *stack, "device");
  bool is_to_host = device.isDevice() && device.toDevice().is_cpu();
  if (non_blocking.toBool() && is_to_host && !is_without_pinned) return move_to_host(op, keys, stack);
  if (is_to_host || is_pageable(read)) non_blocking = false;
  bool goes_on = non_blocking.toBool();
  if (read.is_cpu()) outstanding.wait_for(read, false);
  copying.call_targets(op, keys, stack);
  if (goes_on && read.is_cpu()) outstanding.add_read(read);
}

}  // namespace

void order_copies(const std::string& saying) {
  unpinned_notice.line = saying;
  copying.put<&copy_in_order>("aten::copy_");
  copying.put<&copy_in_order>("aten::_foreach_copy_");
  copying.put<&move_in_order>("aten::_to_copy");
}

void disengage_copies() {
  copying.remove();
  outstanding.wait_for_all();
}

}  // namespace seam
