// Indexing accepts indices on the host or on the device; all other tensors must be on the device.
#include "device/device.h"
#include "operators/fallback.h"
#include "operators/operators.h"

#include <torch/library.h>

namespace software {
namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

void check_indices(const Tensor& self, const IValue& indices) {
  c10::Device place = self.device();
  auto allowed = [&](const IValue& index) {
    return index.isNone() || !index.toTensor().defined() || index.toTensor().is_cpu() ||
           index.toTensor().device() == place;
  };
  auto all = indices.toListRef();
  TORCH_CHECK(std::all_of(all.begin(), all.end(), allowed), "indices should be either on ", c10::kCPU,
              " or on the same device as the indexed tensor (", place, ")");
}

void read(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  auto arguments = stack->end() - long(op.schema().arguments().size());
  check_indices(arguments[0].toTensor(), arguments[1]);
  fallback(op, keys, stack);
}

// (Tensor(a!) self, Tensor?[] indices, Tensor values, …): a number of the host is taken for values too.
void write(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  auto arguments = stack->end() - long(op.schema().arguments().size());
  const Tensor& self = arguments[0].toTensor();
  const Tensor& values = arguments[2].toTensor();
  check_indices(self, arguments[1]);
  bool number = values.dim() == 0 && values.numel() == 1;
  TORCH_CHECK(values.device() == self.device() || number,
              "Expected all tensors to be on the same device, but found at least two devices, ", self.device(), " and ",
              values.device(), "!");
  if (number) arguments[2] = values.to(self.device());
  fallback(op, keys, stack);
}

// A scalar on the host is not copied, so elements may share memory.
Tensor& fill(Tensor& self, const Tensor& value) {
  TORCH_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", value.dim(),
              " dimensions.");
  if (self.device() != value.device()) return self.fill_(value.item());
  return self.copy_(self.is_alias_of(value) ? value.clone() : value);
}

}  // namespace

void install_indexing() {
  static torch::Library library(torch::Library::IMPL, "aten", backend_key(), __FILE__, __LINE__);
  for (const char* name : {"index.Tensor", "index.Tensor_out"})
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&read>());
  library.impl("_index_put_impl_", torch::CppFunction::makeFromBoxedFunction<&write>());
  library.impl("fill_.Tensor", &fill);
  // Composed of a kernel that torch finds in a table that only a build with CUDA fills.
  library.impl("mode.values", torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

}  // namespace software
