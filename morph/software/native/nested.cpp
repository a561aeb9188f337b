// Nested tensors of the device. torch's kernels for those of the CPU work on the buffer through other operators, and
// read nothing but sizes themselves, which are the host's: they are the device's kernels too.
#include "device.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <torch/library.h>

#include <unordered_set>

namespace software {
namespace {

using c10::DispatchKey;
using torch::jit::Stack;

// A build for CUDA has no kernels of these.
const std::unordered_set<std::string> kOnlyOnTheHost{"aten::sum.dim_IntList", "aten::_nested_sum_backward",
                                                     "aten::is_pinned", "aten::_pin_memory"};
// Operators on the dense tensors that a nested one is made of.
const char* const kMakeNested[] = {"_nested_from_padded", "_nested_tensor_from_mask",
                                   "_nested_tensor_from_mask_left_aligned", "_nested_view_from_buffer",
                                   "_nested_compute_contiguous_strides_offsets"};

DispatchKey nested_key() {
  switch (settings().type) {
    case c10::DeviceType::XPU: return DispatchKey::NestedTensorXPU;
    case c10::DeviceType::CUDA: return DispatchKey::NestedTensorCUDA;
    default: return DispatchKey::NestedTensorPrivateUse1;
  }
}

template <DispatchKey key>
void by_kernel_of(const c10::OperatorHandle& op, Stack* stack) {
  op.redispatchBoxed(c10::DispatchKeySet(key), stack);
}

}  // namespace

void install_nested() {
  static auto* nested = new torch::Library(torch::Library::IMPL, "aten", nested_key(), __FILE__, __LINE__);
  for (const auto& name : c10::Dispatcher::singleton().getRegistrationsForDispatchKey(DispatchKey::NestedTensorCPU))
    if (!kOnlyOnTheHost.count(c10::toString(name)))
      nested->impl(c10::toString(name).c_str(),
                   torch::CppFunction::makeFromBoxedFunction<&by_kernel_of<DispatchKey::NestedTensorCPU>>());
  static auto* dense = new torch::Library(torch::Library::IMPL, "aten", backend_key(), __FILE__, __LINE__);
  for (const char* name : kMakeNested)
    dense->impl(name, torch::CppFunction::makeFromBoxedFunction<&by_kernel_of<DispatchKey::CPU>>());
}

}  // namespace software
