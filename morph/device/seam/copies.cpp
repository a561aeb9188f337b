// Copies with non_blocking=True between the target and memory of the host that is not pinned end before they return,
// as CUDA's do: the vendor's read and write that memory later, when the program may have changed or freed it.
#include "kernel.h"
#include "seam.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <atomic>

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

void copy_in_order(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  c10::IValue& non_blocking = argument(op, *stack, "non_blocking");
  if (non_blocking.toBool() &&
      (is_pageable(argument(op, *stack, "self")) || is_pageable(argument(op, *stack, "src"))))
    non_blocking = false;
  copying.call_targets(op, keys, stack);
}

// To new memory of the host, which is pinned, as CUDA's; where the vendor can pin none, the copy ends first.
void move_to_host(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  Stack again = *stack;
  try {
    return copying.call_targets(op, keys, stack);
  } catch (const c10::NotImplementedError&) {
    *stack = std::move(again);
    is_without_pinned = true;
    unpinned_notice.say();
  }
  argument(op, *stack, "non_blocking") = false;
  copying.call_targets(op, keys, stack);
}

void move_in_order(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  c10::IValue& non_blocking = argument(op, *stack, "non_blocking");
  const c10::IValue& device = argument(op, *stack, "device");
  bool is_to_host = device.isDevice() && device.toDevice().is_cpu();
  if (non_blocking.toBool() && is_to_host && !is_without_pinned) return move_to_host(op, keys, stack);
  if (is_to_host || is_pageable(argument(op, *stack, "self"))) non_blocking = false;
  copying.call_targets(op, keys, stack);
}

}  // namespace

void order_copies(const std::string& saying) {
  unpinned_notice.line = saying;
  copying.put<&copy_in_order>("aten::copy_");
  copying.put<&copy_in_order>("aten::_foreach_copy_");
  copying.put<&move_in_order>("aten::_to_copy");
}

void disengage_copies() { copying.remove(); }

}  // namespace seam
