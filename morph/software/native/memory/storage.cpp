// Operators that allocate, view, resize, copy or read device memory.
#include "device/activities.h"
#include "device/captures.h"
#include "device/clock.h"
#include "memory/host_view.h"
#include "memory/unwritten.h"
#include "device/order.h"
#include "operators/kernels.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/cpu/Loops.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/version.h>

namespace software {
namespace {

using at::IntArrayRef;
using c10::DeviceIndex;
using at::Tensor;
using std::optional;

at::ScalarType or_default(optional<at::ScalarType> dtype) {
  return dtype ? *dtype : c10::typeMetaToScalarType(c10::get_default_dtype());
}

OnDevice on(optional<c10::Device> wanted) { return OnDevice(wanted ? wanted->index() : -1); }

void refuse_pinning(optional<bool> pin) {
  TORCH_CHECK(!pin.value_or(false), "Only dense CPU tensors can be pinned");
}

// torch.utils.deterministic.fill_uninitialized_memory
Tensor filled(Tensor fresh) {
  auto& context = at::globalContext();
  if (context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory())
    at::native::fill_empty_deterministic_(fresh);
  return fresh;
}

Tensor empty(IntArrayRef size, optional<at::ScalarType> dtype, optional<at::Layout>, optional<c10::Device> wanted,
             optional<bool> pin, optional<at::MemoryFormat> format) {
  refuse_pinning(pin);
  OnDevice guard = on(wanted);
  c10::DispatchKeySet keys(backend_key());
  return filled(at::detail::empty_generic(size, allocator(), keys, or_default(dtype), format));
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride, optional<at::ScalarType> dtype, optional<at::Layout>,
                     optional<c10::Device> wanted, optional<bool> pin) {
  refuse_pinning(pin);
  OnDevice guard = on(wanted);
  c10::DispatchKeySet keys(backend_key());
  return filled(at::detail::empty_strided_generic(size, stride, allocator(), keys, or_default(dtype)));
}

const Tensor& resize_(const Tensor& self, IntArrayRef size, optional<at::MemoryFormat> format) {
  OnDevice guard(self.device().index());
  DeviceAccess access;
  return at::native::resize_(self, size, format);
}

Tensor& set_storage(Tensor& self, c10::Storage source, int64_t offset, IntArrayRef size, IntArrayRef stride) {
  OnDevice guard(source.device().index());
  DeviceAccess access;
  return at::native::set_storage_cpu_(self, std::move(source), offset, size, stride);
}

Tensor& set_whole_storage(Tensor& self, c10::Storage source) {
  int64_t size = int64_t(source.nbytes()) / int64_t(self.dtype().itemsize());
  return set_storage(self, std::move(source), 0, size, {});
}

Tensor& set_empty(Tensor& self) {
  OnDevice guard(self.device().index());
  c10::Storage nothing(c10::Storage::use_byte_size_t(), 0, allocator()->allocate(0), allocator(), true);
  return set_storage(self, std::move(nothing), 0, {0}, {});
}

// torch 2.11 asks for it before the copy begins, so that the capture goes on.
void refuse_pageable(const Tensor& host, DeviceIndex index) {
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 11
  bool is_cudas = settings().type == c10::DeviceType::CUDA;
  TORCH_CHECK(!is_cudas || !is_capturing(current_stream(index)) || is_pinned(host.storage().data()),
              "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned. "
              "Please use tensor.pin_memory() or allocate the tensor with pin_memory=True.");
#endif
}

// A copy between host and device blocks unless it is non-blocking; then pinned memory stays in use
// until the queue reaches it.
void note_copy(const Tensor& source, const Tensor& target, bool non_blocking) {
  if (!is_watched() || source.is_cpu() == target.is_cpu()) return;
  const Tensor &host = source.is_cpu() ? source : target, &device = source.is_cpu() ? target : source;
  DeviceIndex index = device.device().index();
  refuse_pageable(host, index);
  if (non_blocking) use_pinned(host.storage().data(), current_stream(index));
  else wait_for_copy(index);
}

// A small copy between tensors that differ only in their place; the CPU's kernel takes longer to find that out.
bool copied_as_bytes(const Tensor& source, const Tensor& target) {
  bool alike = source.dtype() == target.dtype() && source.sizes() == target.sizes() &&
               source.strides() == target.strides() && source.is_neg() == target.is_neg() &&
               source.is_conj() == target.is_conj() && source.numel() <= at::internal::GRAIN_SIZE;
  if (!alike || !source.is_non_overlapping_and_dense() || source.is_quantized()) return false;
  if (source.numel()) std::memmove(mutable_elements(target), elements(source), source.nbytes());
  return true;
}

// What lies outside an integer's range becomes its nearest number, and NaN 0, or with 64 bits on either side the
// highest bit (PTX ISA, cvt); the CPU's conversion makes all of them that bit.
template <typename Integer, typename Floating>
Integer rounded(Floating value) {
  using Limits = std::numeric_limits<Integer>;
  constexpr uint64_t highest = uint64_t(1) << (8 * sizeof(Integer) - 1);
  constexpr Floating begin = Limits::is_signed ? -Floating(highest) : 0;
  constexpr Floating end = Limits::is_signed ? Floating(highest) : 2 * Floating(highest);
  if (value != value) return sizeof(Floating) + sizeof(Integer) > 8 ? Integer(highest) : 0;
  return value >= end ? Limits::max() : value < begin ? Limits::min() : Integer(value);
}

// Of a copy between host and device, the host converts the type.
bool rounds_to_integers(const Tensor& source, const Tensor& target) {
  bool is_cudas = settings().type == c10::DeviceType::CUDA && !source.is_cpu() && !target.is_cpu();
  return is_cudas && source.is_floating_point() && at::isIntegralType(target.scalar_type(), /*includeBool=*/false);
}

// Small integers are the last bits of wider ones.
template <typename Integer, typename Wide = Integer>
void round_to(at::TensorIterator& iterator) {
  if (iterator.dtype(1) == at::kDouble)
    at::native::cpu_kernel(iterator, [](double value) { return Integer(rounded<Wide>(value)); });
  else at::native::cpu_kernel(iterator, [](float value) { return Integer(rounded<Wide>(value)); });
}

void round_to_integers(const Tensor& target, const Tensor& source) {
  Tensor read = at::isReducedFloatingType(source.scalar_type()) ? source.to(at::kFloat) : source.resolve_neg();
  auto iterator = at::TensorIteratorConfig().add_output(target).add_const_input(read).resize_outputs(false)
                      .check_all_same_dtype(false).build();
  switch (target.scalar_type()) {
    case at::kByte: return round_to<uint8_t, int64_t>(iterator);
    case at::kChar: return round_to<int8_t, int32_t>(iterator);
    case at::kShort: return round_to<int16_t, int32_t>(iterator);
    case at::kInt: return round_to<int32_t>(iterator);
    case at::kLong: return round_to<int64_t>(iterator);
    case at::kUInt16: return round_to<uint16_t, uint32_t>(iterator);
    case at::kUInt32: return round_to<uint32_t>(iterator);
    default: return round_to<uint64_t>(iterator);
  }
}

// Either side may be on the host: both are memory of this process.
Tensor copied(const Tensor& source, const Tensor& target, bool non_blocking) {
  RecordedCopy recorded(source, target);
  note_copy(source, target, non_blocking);
  if (source._is_zerotensor()) {  // it has no memory
    host_view(target).zero_();
    return target;
  }
  if (source.is_alias_of(target)) at::assert_no_partial_overlap(source, target);
  if (copied_as_bytes(source, target)) return target;
  Tensor written = host_view(target);  // first: a lazy clone may share its memory with the source
  if (rounds_to_integers(source, target)) round_to_integers(written, readable_host_view(source));
  else written.copy_(readable_host_view(source));
  return target;
}

Tensor copy_from(const Tensor& source, const Tensor& target, bool non_blocking) {
  if (!is_order_watched()) return copied(source, target, non_blocking);
  prepare_copy(source, target);
  copied(source, target, non_blocking);
  queue_copy(source, target, !non_blocking);
  return target;
}

// torch copies by _copy_from for PrivateUse1, and by copy_ for device types that it knows.
Tensor& copy_(Tensor& self, const Tensor& source, bool non_blocking) {
  copy_from(source, self, non_blocking);
  return self;
}

Tensor copy_from_and_resize(const Tensor& source, const Tensor& target) {
  target.resize_(source.sizes());
  return copy_from(source, target, false);
}

void queue_read(const Tensor& self) {
  Uses uses;
  add_uses(uses, self, false);
  queue_work("item", current_stream(self.device().index()), uses);
}

// Reads an item() for the program, and so waits for the queue.
at::Scalar read_scalar(const Tensor& self) {
  if (is_order_watched()) queue_read(self);
  if (marks_unwritten) [[unlikely]] check_read("item", self, false);
  wait_for_copy(self.device().index());
  Tensor host = readable_host_view(self);
  RecordedCopy recorded(self, host, "Pinned");
  return at::_local_scalar_dense(host);
}

void record_stream(Tensor& self, c10::Stream stream) { allocator()->recordStream(self.storage().data_ptr(), stream); }

// Lets `parameter.data = moved` keep the parameter: torch calls it for every pair of dense tensors.
bool exchangeable(const Tensor& self, const Tensor& other) {
  auto dense = [](const Tensor& tensor) {
    return tensor.layout() == c10::kStrided && (tensor.is_cpu() || tensor.device().type() == settings().type);
  };
  return dense(self) && dense(other);
}

}  // namespace

void install_storage_operators() {
  torch::Library& library = library_for(backend_key());
  library.impl("empty.memory_format", &empty);
  library.impl("empty_strided", &empty_strided);
  library.impl("as_strided", &at::native::as_strided_tensorimpl);
  library.impl("view", static_cast<Tensor (*)(const Tensor&, IntArrayRef)>(&at::native::view));
  library.impl("_reshape_alias", &at::native::_reshape_alias);
  library.impl("unfold", &at::native::unfold);
  library.impl("view_as_real", &at::native::view_as_real);
  library.impl("view_as_complex", &at::native::view_as_complex);
  library.impl("resize_", &resize_);
  library.impl("set_.source_Storage", &set_whole_storage);
  library.impl("set_.source_Storage_storage_offset", &set_storage);
  library.impl("set_.source_Tensor", &at::native::set_tensor_);
  library.impl("set_", &set_empty);
  if (known_to_torch()) library.impl("copy_", &copy_);
  library.impl("_copy_from", &copy_from);
  library.impl("_copy_from_and_resize", &copy_from_and_resize);
  library.impl("_local_scalar_dense", &read_scalar);
  library.impl("record_stream", &record_stream);
  // As for CUDA no subclass with __torch_dispatch__ is asked, although it has a kernel of the device here.
  for (auto key : {backend_key(), autograd_key()})
    library_for(key).impl("_has_compatible_shallow_copy_type", &exchangeable);
  // Copying reads conjugate and negative views as they are; resolving one is a copy.
  for (auto lazy : {c10::DispatchKey::Conjugate, c10::DispatchKey::Negative})
    library_for(lazy).impl("_copy_from", torch::CppFunction::makeFallthrough());
}

}  // namespace software
