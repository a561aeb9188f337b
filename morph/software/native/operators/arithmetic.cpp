// Arithmetic whose results are CUDA's where the CPU's are others.
#include "operators/kernels.h"
#include "operators/operators.h"
#include "operators/unboxed.h"

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>
#include <ATen/core/functional.h>
#include <ATen/native/ForeachUtils.h>

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
  if (sums_wide(self, other, alpha)) return OnHost<name, &wide<sum>>::call(self, other, alpha);
  return plain<Operator>(self, other, alpha);
}
template <Name name, class Operator, Sum* sum>
Tensor& summed_in_place(Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (!sums_wide(self, other, alpha)) return plain<Operator>(self, other, alpha);
  OnHost<name, &wide_in_place<sum>>::call(self, other, alpha);
  return self;
}

void refuse_product(const Tensor& self, const Tensor& other) {
  if (!is_wide_unsigned(self.scalar_type()) && !is_wide_unsigned(other.scalar_type())) return;
  ScalarType type = at::result_type(self, other);
  TORCH_CHECK_NOT_IMPLEMENTED(!is_wide_unsigned(type), "\"mul_cuda\" not implemented for '", toString(type), "'");
}

// The CPU rounds a number to a half where it is the first factor, as in mul_.Scalar.
Tensor multiplied(const Tensor& self, const Tensor& other) {
  refuse_product(self, other);
  bool swaps = is_number(self) && is_half(other.scalar_type());
  return swaps ? plain<at::_ops::mul_Tensor>(other, self) : plain<at::_ops::mul_Tensor>(self, other);
}
Tensor& multiplied_in_place(Tensor& self, const Tensor& other) {
  refuse_product(self, other);
  return plain<at::_ops::mul__Tensor>(self, other);
}
void multiplied_into(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  c10::IValue &self = torch::jit::peek(*stack, 0, 3), &other = torch::jit::peek(*stack, 1, 3);
  refuse_product(self.toTensor(), other.toTensor());
  if (is_number(self.toTensor()) && is_half(other.toTensor().scalar_type())) std::swap(self, other);
  fallback(op, keys, stack);
}

using Division = Tensor(const Tensor&, const Tensor&);
using Mode = std::optional<std::string_view>;

// Of an int64 that is not negative the lower half.
Tensor all_bits(const Tensor& self, ScalarType type) {
  Tensor bits = at::full({}, -1, at::TensorOptions(at::kLong));
  return type == at::kLong ? at::where(self >= 0, 0xffffffff, bits) : bits;
}
// One less where the signs differ and something remains.
Tensor bits_of_floor(const Tensor& self, ScalarType type) { return all_bits(self, type) - (self < 0).to(at::kLong); }

bool holds(const Tensor& integers, int64_t wanted) {
  if (integers.dim() == 0 && integers.scalar_type() != at::kUInt64) return integers.item().toLong() == wanted;
  return (integers == wanted).any().item().toBool();
}

// An integer is divided by zero on CUDA without an error.
template <Division* division, Tensor (*bits)(const Tensor&, ScalarType)>
Tensor of_zeros(const Tensor& self, const Tensor& other) {
  ScalarType type = at::result_type(self, other);
  if (!at::isIntegralType(type, false)) return division(self, other);
  if (!holds(other, 0)) return division(self, other);
  Tensor zero = other == 0;
  return at::where(zero, bits(self, type).to(type), division(self, other.masked_fill(zero, 1)));
}
template <Division* division>
void write(Tensor& self, const Tensor& other) {
  self.copy_(division(self, other));
}
template <Name name, Division* division>
Tensor& in_place(Tensor& self, const Tensor& other) {
  OnHost<name, &write<division>>::call(self, other);
  return self;
}

// The least integer divided by minus one, which ends a process on the CPU, stays what it is on CUDA.
Tensor truncated(const Tensor& self, const Tensor& other) {
  ScalarType type = at::result_type(self, other);
  if (type != at::kInt && type != at::kLong) return at::div(self, other, "trunc");
  if (!holds(other, -1)) return at::div(self, other, "trunc");
  Tensor minus = other == -1;
  return at::where(minus, -self, at::div(self, other.masked_fill(minus, 1), "trunc"));
}
constexpr Division* REMAINDER = &of_zeros<&at::remainder, &all_bits>;
constexpr Division* FMOD = &of_zeros<&at::fmod, &all_bits>;
constexpr Division* FLOOR = &of_zeros<&at::floor_divide, &bits_of_floor>;
constexpr Division* TRUNCATE = &of_zeros<&truncated, &all_bits>;

// Where the greatest common divisor of the least integer is minus one, the CPU divides it as above.
Tensor multiple(const Tensor& self, const Tensor& other) {
  ScalarType type = at::result_type(self, other);
  if (type != at::kInt && type != at::kLong) return at::lcm(self, other);
  Tensor divisor = at::gcd(self, other);
  if (!(divisor < 0).any().item().toBool()) return at::lcm(self, other);
  return truncated(self, divisor.masked_fill(divisor == 0, 1)).mul(other).abs();
}

Tensor divided(const Tensor& self, const Tensor& other, Mode mode) {
  if (!mode || !at::isIntegralType(at::result_type(self, other), false)) return at::div(self, other, mode);
  return *mode == "floor" ? FLOOR(self, other) : *mode == "trunc" ? TRUNCATE(self, other) : at::div(self, other, mode);
}
void write_divided(Tensor& self, const Tensor& other, Mode mode) { self.copy_(divided(self, other, mode)); }
Tensor& divided_in_place(Tensor& self, const Tensor& other, Mode mode) {
  OnHost<"aten::div_", &write_divided>::call(self, other, mode);
  return self;
}

void install_divisions(torch::Library& library) {
  on_host<"aten::remainder.Tensor", REMAINDER>(library);
  on_host<"aten::fmod.Tensor", FMOD>(library);
  on_host<"aten::floor_divide", FLOOR>(library);
  on_host<"aten::lcm", &multiple>(library);
  library.impl("lcm_", &in_place<"aten::lcm_", &multiple>);
  on_host<"aten::div.Tensor_mode", &divided>(library);
  library.impl("remainder_.Tensor", &in_place<"aten::remainder_", REMAINDER>);
  library.impl("fmod_.Tensor", &in_place<"aten::fmod_", FMOD>);
  library.impl("floor_divide_.Tensor", &in_place<"aten::floor_divide_", FLOOR>);
  library.impl("div_.Tensor_mode", &divided_in_place);
}

Tensor remainder_of_number(const Scalar& self, const Tensor& other) {
  return at::remainder(at::native::wrapped_scalar_tensor(self), other);
}

Tensor power_of_number(const Scalar& base, const Tensor& exponent) {
  using Power = at::_ops::pow_Scalar;
  bool is_wide = base.isComplex() && exponent.scalar_type() == at::kHalf;
  return is_wide ? at::pow(base, exponent.to(at::kFloat)).to(at::kComplexHalf) : plain<Power>(base, exponent);
}

Tensor power_by_number(const Tensor& base, const Scalar& exponent) {
  using Power = at::_ops::pow_Tensor_Scalar;
  bool is_wide = exponent.isComplex() && base.scalar_type() == at::kHalf;
  return is_wide ? at::pow(base.to(at::kFloat), exponent).to(at::kComplexHalf) : plain<Power>(base, exponent);
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

// CUDA's takes booleans, as its abs of one tensor does.
bool are_booleans(at::TensorList self) { return !self.empty() && self[0].scalar_type() == at::kBool; }

std::vector<Tensor> absolutes(at::TensorList self) {
  using Op = at::_ops::_foreach_abs;
  static UnboxedForLists<Op::schema> others(Op::name, &Op::redispatch);
  if (!are_booleans(self)) return others(self);
  return c10::fmap(self, [](const Tensor& each) { return at::abs(each); });
}

void absolutes_in_place(at::TensorList self) {
  using Op = at::_ops::_foreach_abs_;
  static UnboxedForLists<Op::schema> others(Op::name, &Op::redispatch);
  if (!are_booleans(self)) return others(self);
  for (Tensor each : self) each.abs_();
}

void install_lists(torch::Library& library) {
  library.impl("_foreach_abs", &absolutes);
  library.impl("_foreach_abs_", &absolutes_in_place);
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
  library.impl("mul_.Tensor", &multiplied_in_place);
  boxed<&multiplied_into>(library, {"mul.out"});
  library.impl("add_.Tensor", &summed_in_place<"aten::add_", at::_ops::add__Tensor, &at::add>);
  library.impl("sub_.Tensor", &summed_in_place<"aten::sub_", at::_ops::sub__Tensor, &at::sub>);
}

}  // namespace

KERNELS_OF_CUDA(arithmetic, library) {
  install_sums(library);
  install_lists(library);
  install_divisions(library);
  library.impl("remainder.Scalar_Tensor", &remainder_of_number);
  library.impl("pow.Scalar", &power_of_number);
  library.impl("pow.Tensor_Scalar", &power_by_number);
  boxed<&refuse_output>(library, {"bitwise_and.Tensor_out", "bitwise_or.Tensor_out", "bitwise_xor.Tensor_out"});
}

}  // namespace software
