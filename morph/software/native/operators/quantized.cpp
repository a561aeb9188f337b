// Quantized tensors of the device: torch's own structure, the CPU's arithmetic.
#include "device/device.h"
#include "memory/host_view.h"
#include "operators/call.h"
#include "operators/kernels.h"
#include "operators/operators.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/quantized/QTensorImpl.h>

namespace software {
namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::IValue;
using torch::jit::Stack;

// The operators that CUDA has for quantized tensors; it refuses all others.
const char* const kStructure[] = {
    "as_strided", "empty.memory_format", "empty_strided", "empty_like", "empty_quantized", "_empty_affine_quantized",
    "_empty_per_channel_affine_quantized", "_reshape_alias", "squeeze", "squeeze.dim", "squeeze.dims", "unsqueeze",
    "view", "unfold", "qscheme", "q_scale", "q_zero_point", "q_per_channel_scales", "q_per_channel_zero_points",
    "q_per_channel_axis", "set_.source_Storage_storage_offset"};
const char* const kComputed[] = {
    "clone", "dequantize.self", "int_repr", "flip", "fill_.Scalar", "fill_.Tensor", "max.dim", "min.dim",
    "_index_put_impl_", "index_select", "masked_fill_.Scalar", "masked_fill_.Tensor", "relu", "relu_", "gelu",
    "quantized_max_pool2d", "_adaptive_avg_pool2d"};
const char* const kMakeQuantized[] = {
    "quantize_per_tensor", "quantize_per_tensor.tensor_qparams", "quantize_per_tensor.tensors",
    "quantize_per_tensor_dynamic", "quantize_per_channel", "_make_per_tensor_quantized_tensor",
    "_make_per_channel_quantized_tensor"};

at::QTensorImpl* parts_of(const Tensor& tensor) { return static_cast<at::QTensorImpl*>(tensor.unsafeGetTensorImpl()); }

// The scales of channels are tensors beside the quantized one.
template <typename Convert>
at::QuantizerPtr converted(const at::QuantizerPtr& quantizer, Convert convert) {
  auto* channels = dynamic_cast<at::PerChannelAffineQuantizer*>(quantizer.get());
  if (!channels) return quantizer;
  return at::make_per_channel_affine_quantizer(convert(channels->scales()), convert(channels->zero_points()),
                                               channels->axis(), channels->scalar_type());
}

template <typename Convert>
Tensor quantized_on(const Tensor& tensor, c10::Storage storage, DispatchKey key, Convert convert) {
  auto made = at::detail::make_tensor<at::QTensorImpl>(std::move(storage), c10::DispatchKeySet(key), tensor.dtype(),
                                                       converted(parts_of(tensor)->quantizer(), convert));
  made.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  return made;
}

Tensor viewed(const Tensor& tensor) {
  if (!on_device(tensor)) return tensor;
  if (!tensor.is_quantized()) return host_view(tensor);
  return quantized_on(tensor, host_view(tensor.storage()), DispatchKey::QuantizedCPU,
                      [](const Tensor& part) { return host_view(part); });
}

c10::Storage copied(const c10::Storage& host, c10::Device target) {
  OnDevice on(target.index());
  c10::DataPtr data = allocator()->allocate(host.nbytes());
  if (host.nbytes()) std::memcpy(usable(data.get()), usable(host.data()), host.nbytes());
  return c10::Storage(c10::Storage::use_byte_size_t(), host.nbytes(), std::move(data), allocator(), true);
}

Tensor moved(const Tensor& host, c10::Device target) {
  if (!host.defined() || !host.is_cpu()) return host;
  if (!host.is_quantized()) return to_device(host, target);
  return quantized_on(host, copied(host.storage(), target), DispatchKey::QuantizedCUDA,
                      [&](const Tensor& part) { return to_device(part, target); });
}

Tensor& copy_(Tensor& self, const Tensor& source, bool) {
  Tensor target = viewed(self);
  target.copy_(viewed(source));
  if (self.is_quantized() && on_device(self))
    parts_of(self)->set_quantizer_(converted(parts_of(target)->quantizer(), [&](const Tensor& part) {
      return to_device(part, self.device());
    }));
  return self;
}

class Viewed {
 public:
  IValue operator()(const IValue& value) {
    if (value.isTensor()) return view(value.toTensor());
    if (value.isTensorList()) {
      c10::List<Tensor> list;
      for (const Tensor& tensor : value.toTensorList()) list.push_back(view(tensor));
      return list;
    }
    return value;
  }
  IValue result(const IValue& value) const {
    if (!value.isTensor()) return value;
    for (auto& [mine, host] : pairs_)
      if (host.is_same(value.toTensor())) return mine;
    return moved(value.toTensor(), device_);
  }

 private:
  Tensor view(const Tensor& tensor) {
    if (on_device(tensor)) device_ = tensor.device();
    pairs_.emplace_back(tensor, viewed(tensor));
    return pairs_.back().second;
  }
  std::vector<std::pair<Tensor, Tensor>> pairs_;
  c10::Device device_ = device(current_device());
};

void compute(const c10::OperatorHandle& op, Stack* stack) {
  Viewed viewed;
  auto arguments = stack->end() - long(op.schema().arguments().size());
  std::transform(arguments, stack->end(), arguments, std::ref(viewed));
  op.callBoxed(stack);
  for (auto value = stack->end() - long(op.schema().returns().size()); value != stack->end(); ++value)
    *value = viewed.result(*value);
}

void make_quantized(const c10::OperatorHandle& op, Stack* stack) {
  op.redispatchBoxed(c10::DispatchKeySet(DispatchKey::QuantizedCPU), stack);
}

}  // namespace

KERNELS_OF_CUDA(quantized, library) {  // other vendors refuse them
  torch::Library& quantized = library_for(DispatchKey::QuantizedCUDA);
  boxed<&make_quantized>(quantized, kStructure);
  boxed<&compute>(quantized, kComputed);
  quantized.impl("copy_", &copy_);
  boxed<&compute>(library, kMakeQuantized);
}

}  // namespace software
