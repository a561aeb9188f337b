// Arithmetic whose results are CUDA's where the CPU's are others.
#include "device/device.h"
#include "operators/operators.h"
#include "operators/unboxed.h"

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>
#include <ATen/native/ForeachUtils.h>
#include <torch/library.h>

namespace software {
namespace {

using at::Scalar;
using at::ScalarType;
using at::Tensor;

bool is_half(ScalarType type) { return type == at::kHalf || type == at::kBFloat16; }
bool is_number(const Tensor& tensor) { return tensor.is_cpu() && tensor.dim() == 0; }
bool is_rounded(const Tensor& tensor, ScalarType type) {
  double number = tensor.item().toDouble();
  return number != (type == at::kHalf ? double(at::Half(float(number))) : double(at::BFloat16(float(number))));
}

// CUDA adds halves in float32, with a factor or a number of the host's that is not rounded to a half before.
bool sums_wide(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  ScalarType type = is_number(self) ? other.scalar_type() : self.scalar_type();
  if (!is_half(type) || at::result_type(self, other) != type) return false;
  if (alpha.toDouble() != 1) return true;
  return (is_number(self) && is_rounded(self, type)) || (is_number(other) && is_rounded(other, type));
}

using Sum = Tensor(const Tensor&, const Tensor&, const Scalar&);
template <Sum* sum>
Tensor wide(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  auto widened = [](const Tensor& tensor) { return is_half(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor; };
  return sum(widened(self), widened(other), alpha).to(at::result_type(self, other));
}
template <Sum* sum>
void wide_in_place(Tensor& self, const Tensor& other, const Scalar& alpha) {
  self.copy_(wide<sum>(self, other, alpha));
}

template <Name name, class Operator, Sum* sum>
Tensor summed(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  static Unboxed<typename Operator::schema> plain(name.text, &Operator::redispatch);
  if (sums_wide(self, other, alpha)) return OnHost<name, &wide<sum>>::call(self, other, alpha);
  return plain(self, other, alpha);
}
template <Name name, class Operator, Sum* sum>
Tensor& summed_in_place(Tensor& self, const Tensor& other, const Scalar& alpha) {
  static Unboxed<typename Operator::schema> plain(name.text, &Operator::redispatch);
  if (!sums_wide(self, other, alpha)) return plain(self, other, alpha);
  OnHost<name, &wide_in_place<sum>>::call(self, other, alpha);
  return self;
}

// The CPU rounds a number to a half where it is the first factor, as in mul_.Scalar.
Tensor multiplied(const Tensor& self, const Tensor& other) {
  static Unboxed<at::_ops::mul_Tensor::schema> plain("aten::mul", &at::_ops::mul_Tensor::redispatch);
  return is_number(self) && is_half(other.scalar_type()) ? plain(other, self) : plain(self, other);
}
void multiplied_into(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  c10::IValue &self = torch::jit::peek(*stack, 0, 3), &other = torch::jit::peek(*stack, 1, 3);
  if (is_number(self.toTensor()) && is_half(other.toTensor().scalar_type())) std::swap(self, other);
  fallback(op, keys, stack);
}

// Of an integer divided by zero CUDA has a remainder: all bits, or for an int64 that is not negative the lower half.
template <Tensor (*remainder)(const Tensor&, const Tensor&)>
Tensor of_zeros(const Tensor& self, const Tensor& other) {
  ScalarType type = at::result_type(self, other);
  if (!at::isIntegralType(type, false)) return remainder(self, other);
  Tensor zero = other == 0;
  if (!zero.any().item().toBool()) return remainder(self, other);
  Tensor bits = at::full({}, -1, at::TensorOptions(at::kLong));
  if (type == at::kLong) bits = at::where(self >= 0, 0xffffffff, bits);
  return at::where(zero, bits.to(type), remainder(self, other.masked_fill(zero, 1)));
}
template <Tensor (*remainder)(const Tensor&, const Tensor&)>
void write_of_zeros(Tensor& self, const Tensor& other) {
  self.copy_(of_zeros<remainder>(self, other));
}
template <Name name, Tensor (*remainder)(const Tensor&, const Tensor&)>
Tensor& of_zeros_in_place(Tensor& self, const Tensor& other) {
  OnHost<name, &write_of_zeros<remainder>>::call(self, other);
  return self;
}

Tensor remainder_of_number(const Scalar& self, const Tensor& other) {
  return at::remainder(at::native::wrapped_scalar_tensor(self), other);
}

Tensor power_of_number(const Scalar& base, const Tensor& exponent) {
  static Unboxed<at::_ops::pow_Scalar::schema> plain("aten::pow", &at::_ops::pow_Scalar::redispatch);
  if (!base.isComplex() || exponent.scalar_type() != at::kHalf) return plain(base, exponent);
  return at::pow(base, exponent.to(at::kFloat)).to(at::kComplexHalf);
}

Tensor power_by_number(const Tensor& base, const Scalar& exponent) {
  static Unboxed<at::_ops::pow_Tensor_Scalar::schema> plain("aten::pow", &at::_ops::pow_Tensor_Scalar::redispatch);
  if (!exponent.isComplex() || base.scalar_type() != at::kHalf) return plain(base, exponent);
  return at::pow(base.to(at::kFloat), exponent).to(at::kComplexHalf);
}

// CUDA's kernels of bits are made for the type of the output.
void refuse_output(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  ScalarType type = stack->back().toTensor().scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(at::isIntegralType(type, true), '"', op.schema().name().substr(6),
                              "_cuda\" not implemented for '", toString(type), "'");
  fallback(op, keys, stack);
}

// The numbers, one for each tensor of the lists, are in a tensor of the host.
template <auto function>
std::vector<Tensor> by_numbers(at::TensorList self, at::TensorList first, at::TensorList second, const Tensor& numbers) {
  return function(self, first, second, at::native::convert_tensor_to_scalar_list(numbers, int64_t(first.size())));
}

template <auto function>
void by_numbers_in_place(at::TensorList self, at::TensorList first, at::TensorList second, const Tensor& numbers) {
  function(self, first, second, at::native::convert_tensor_to_scalar_list(numbers, int64_t(first.size())));
}

void install_lists(torch::Library& library) {
  library.impl("_foreach_addcdiv.Tensor", &by_numbers<&at::_ops::_foreach_addcdiv_ScalarList::call>);
  library.impl("_foreach_addcmul.Tensor", &by_numbers<&at::_ops::_foreach_addcmul_ScalarList::call>);
  library.impl("_foreach_addcdiv_.Tensor", &by_numbers_in_place<&at::_ops::_foreach_addcdiv__ScalarList::call>);
  library.impl("_foreach_addcmul_.Tensor", &by_numbers_in_place<&at::_ops::_foreach_addcmul__ScalarList::call>);
}

void install_sums(torch::Library& library) {
  library.impl("add.Tensor", &summed<"aten::add", at::_ops::add_Tensor, &at::add>);
  library.impl("sub.Tensor", &summed<"aten::sub", at::_ops::sub_Tensor, &at::sub>);
  library.impl("rsub.Tensor", &summed<"aten::rsub", at::_ops::rsub_Tensor, &at::rsub>);
  library.impl("mul.Tensor", &multiplied);
  library.impl("mul.out", torch::CppFunction::makeFromBoxedFunction<&multiplied_into>());
  library.impl("add_.Tensor", &summed_in_place<"aten::add_", at::_ops::add__Tensor, &at::add>);
  library.impl("sub_.Tensor", &summed_in_place<"aten::sub_", at::_ops::sub__Tensor, &at::sub>);
}

}  // namespace

void install_arithmetic() {
  if (settings().type != c10::DeviceType::CUDA) return;
  static torch::Library library(torch::Library::IMPL, "aten", backend_key(), __FILE__, __LINE__);
  install_sums(library);
  install_lists(library);
  library.impl("remainder.Tensor", &OnHost<"aten::remainder", &of_zeros<&at::remainder>>::call);
  library.impl("remainder.Scalar_Tensor", &remainder_of_number);
  library.impl("fmod.Tensor", &OnHost<"aten::fmod", &of_zeros<&at::fmod>>::call);
  library.impl("remainder_.Tensor", &of_zeros_in_place<"aten::remainder_", &at::remainder>);
  library.impl("fmod_.Tensor", &of_zeros_in_place<"aten::fmod_", &at::fmod>);
  library.impl("pow.Scalar", &power_of_number);
  library.impl("pow.Tensor_Scalar", &power_by_number);
  for (const char* name : {"bitwise_and.Tensor_out", "bitwise_or.Tensor_out", "bitwise_xor.Tensor_out"})
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&refuse_output>());
}

}  // namespace software
