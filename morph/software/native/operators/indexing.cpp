// Indexing accepts indices on the host or on the device; all other tensors must be on the device. The host waits
// where CUDA's kernels do: for indices that are copied, and for the size of what a mask selects.
#include "device/clock.h"
#include "operators/call.h"
#include "operators/fallback.h"
#include "operators/kernels.h"
#include "operators/operators.h"
#include "operators/unboxed.h"

#include <ATen/Operators.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>

namespace software {
namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;
using Indices = c10::List<std::optional<Tensor>>;

void check_indices(const Tensor& self, const Indices& indices) {
  c10::Device place = self.device();
  for (const std::optional<Tensor>& index : indices)
    TORCH_CHECK(!given(index) || index->is_cpu() || index->device() == place, "indices should be either on ", c10::kCPU,
                " or on the same device as the indexed tensor (", place, ")");
}

bool is_mask(const Tensor& index) { return index.scalar_type() == at::kBool || index.scalar_type() == at::kByte; }

void wait_for_indices(const Tensor& self, const Indices& indices) {
  if (!on_device(self) || !is_watched()) return;
  for (const std::optional<Tensor>& each : indices)
    if (given(each) && (each->is_cpu() || is_mask(*each))) return wait_for_copy(self.device().index());
}

// A number for what one mask on the device selects: CUDA fills, and counts nothing.
bool is_filled(const Indices& indices, const Tensor& value, bool accumulate) {
  if (accumulate || value.numel() != 1 || !value.is_cpu()) return false;
  int masks = 0;
  for (const std::optional<Tensor>& each : indices) {
    if (!given(each)) continue;
    if (each->is_cpu() || !is_mask(*each)) return false;
    masks++;
  }
  return masks == 1;
}

void check_read(const Tensor& self, const Indices& indices) {
  at::ScalarType type = self.scalar_type();
  bool refused = settings().type == c10::DeviceType::CUDA && is_wide_unsigned(type);
  TORCH_CHECK_NOT_IMPLEMENTED(!refused, "\"index_cuda\" not implemented for '", toString(type), "'");
  check_indices(self, indices);
  wait_for_indices(self, indices);
}

Tensor read_indexed(const Tensor& self, const Indices& indices) {
  check_read(self, indices);
  return plain<at::_ops::index_Tensor>(self, indices);
}

// (Tensor self, Tensor?[] indices, *, Tensor(a!) out)
void read_indexed_into(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  auto arguments = stack->end() - 3;
  check_read(arguments[0].toTensor(), arguments[1].to<Indices>());
  fallback(op, keys, stack);
}

// A number of the host is taken for values too.
Tensor on_device_of(const Tensor& self, const Tensor& values) {
  if (values.device() == self.device()) return values;
  TORCH_CHECK(values.dim() == 0, "Expected all tensors to be on the same device, but found at least two devices, ",
              self.device(), " and ", values.device(), "!");
  return values.is_cpu() ? at::full({}, values.item(), values.options().device(self.device())) : values.to(self.device());
}

Tensor& write_indexed(Tensor& self, const Indices& indices, const Tensor& values, bool accumulate, bool unsafe) {
  using Operator = at::_ops::_index_put_impl_;
  check_indices(self, indices);
  Tensor own = on_device_of(self, values);
  if (!is_filled(indices, values, accumulate)) wait_for_indices(self, indices);
  return plain<Operator>(self, indices, own, accumulate, unsafe);
}

// (Tensor repeats, *, SymInt? output_size): without the size it is the sum of what the device holds.
void repeat(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const IValue *repeats = &*(stack->end() - 2), *size = repeats + 1;
  if (on_device(repeats->toTensor()) && size->isNone()) wait_for_copy(repeats->toTensor().device().index());
  fallback(op, keys, stack);
}

// A scalar on the host is not copied, so elements may share memory.
Tensor& fill(Tensor& self, const Tensor& value) {
  TORCH_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", value.dim(),
              " dimensions.");
  if (self.device() != value.device()) return self.fill_(value.item());
  return self.copy_(self.is_alias_of(value) ? value.clone() : value);
}

// Types that the CPU moves as integers of their size.
std::optional<at::ScalarType> as_bits(at::ScalarType type) {
  if (c10::isFloat8Type(type)) return at::kByte;
  if (type == at::kUInt16) return at::kShort;
  if (type == at::kUInt32) return at::kInt;
  return type == at::kUInt64 ? std::optional(at::kLong) : std::nullopt;
}

Tensor flip(const Tensor& self, at::IntArrayRef dims) {
  auto bits = as_bits(self.scalar_type());
  return bits ? at::flip(self.view(*bits), dims).view(self.scalar_type()) : plain<at::_ops::flip>(self, dims);
}

Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool sparse) {
  auto bits = as_bits(self.scalar_type());
  if (!bits) return plain<at::_ops::gather>(self, dim, index, sparse);
  return at::gather(self.view(*bits), dim, index, sparse).view(self.scalar_type());
}

}  // namespace

void install_indexing() {
  torch::Library& library = library_for(backend_key());
  library.impl("index.Tensor", &read_indexed);
  boxed<&read_indexed_into>(library, {"index.Tensor_out"});
  library.impl("_index_put_impl_", &write_indexed);
  boxed<&repeat>(library, {"repeat_interleave.Tensor"});
  if (settings().type == c10::DeviceType::CUDA) {
    library.impl("flip", &flip);
    library.impl("gather", &gather);
  }
  library.impl("fill_.Tensor", &fill);
  // Composed of a kernel that torch finds in a table that only a build with CUDA fills.
  boxed<&fallback>(library, {"mode.values"});
}

}  // namespace software
