// Matrix products with a wider result dtype, which torch has for CUDA only, and with an activation.
#include "operators/fallback.h"
#include "operators/kernels.h"
#include "operators/operators.h"

#include <ATen/native/Resize.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/relu.h>

namespace software {
namespace {

using at::Scalar;
using at::ScalarType;
using at::Tensor;

void check(const Tensor& argument, ScalarType result) {
  auto given = argument.scalar_type();
  bool widened = result == at::kFloat && (given == at::kHalf || given == at::kBFloat16);
  TORCH_CHECK(result == given || widened,
              "out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs");
}

void check(const Tensor& argument, ScalarType result, const Tensor& out) {
  TORCH_CHECK(result == out.scalar_type(), "out_dtype must be the same as the dtype of the provided out tensor");
  check(argument, result);
}

template <class Operator>
Tensor product_of_type(const Tensor& self, const Tensor& other, ScalarType dtype) {
  check(self, dtype);
  return Operator::call(self.to(dtype), other.to(dtype));
}

template <class Operator>
Tensor& product_of_type_into(const Tensor& self, const Tensor& other, ScalarType dtype, Tensor& out) {
  check(self, dtype, out);
  return Operator::call(self.to(dtype), other.to(dtype), out);
}

template <class Operator>
Tensor sum_of_type(const Tensor& self, const Tensor& first, const Tensor& second, ScalarType dtype, const Scalar& beta,
                   const Scalar& alpha) {
  check(first, dtype);
  return Operator::call(self.to(dtype), first.to(dtype), second.to(dtype), beta, alpha);
}

template <class Operator>
Tensor& sum_of_type_into(const Tensor& self, const Tensor& first, const Tensor& second, ScalarType dtype,
                         const Scalar& beta, const Scalar& alpha, Tensor& out) {
  check(first, dtype, out);
  return Operator::call(self.to(dtype), first.to(dtype), second.to(dtype), beta, alpha, out);
}

// CUDA's takes the approximation by tanh.
Tensor addmm_activation(const Tensor& self, const Tensor& first, const Tensor& second, const Scalar& beta,
                        const Scalar& alpha, bool use_gelu) {
  Tensor sum = at::addmm(self, first, second, beta, alpha);
  return use_gelu ? at::gelu_(sum, "tanh") : at::relu_(sum);
}

Tensor& addmm_activation_out(const Tensor& self, const Tensor& first, const Tensor& second, const Scalar& beta,
                             const Scalar& alpha, bool use_gelu, Tensor& out) {
  at::addmm_out(out, self, first, second, beta, alpha);
  return use_gelu ? at::gelu_(out, "tanh") : at::relu_(out);
}

// cuBLASLt rounds a number that is too large for a type of eight bits to its largest one, and the CPU to infinity.
void scaled_product(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  c10::IValue* values = stack->data() + (stack->size() - arguments.size());
  // Without a card to stand for, programs with eight bits can be tried.
  TORCH_CHECK(!settings().of_card || capability() >= 89, "torch._scaled_mm is only supported on CUDA devices with compute "
              "capability >= 9.0 or 8.9, or ROCm MI300+");
  c10::IValue& given = values[*op.schema().argumentIndexWithName("out_dtype")];
  ScalarType type = given.isNone() ? values[0].toTensor().scalar_type() : given.toScalarType();
  bool is_eight_bits = type == at::kFloat8_e4m3fn || type == at::kFloat8_e5m2;
  if (is_eight_bits) given = int64_t(at::kFloat);
  fallback(op, keys, stack);
  if (!is_eight_bits) return;
  double most = type == at::kFloat8_e5m2 ? std::numeric_limits<c10::Float8_e5m2>::max()
                                         : std::numeric_limits<c10::Float8_e4m3fn>::max();
  stack->back() = stack->back().toTensor().clamp(-most, most).to(type);
}

void scaled_product_into(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  static const auto plain = c10::Dispatcher::singleton().findSchemaOrThrow("aten::_scaled_mm", "");
  Tensor out = torch::jit::pop(*stack).toTensor();
  size_t first = stack->size() - plain.schema().arguments().size();
  (*stack)[first + *plain.schema().argumentIndexWithName("out_dtype")] = int64_t(out.scalar_type());
  plain.callBoxed(stack);
  Tensor result = torch::jit::pop(*stack).toTensor();
  at::native::resize_output(out, result.sizes());
  torch::jit::push(*stack, out.copy_(result));
}

}  // namespace

KERNELS_OF_CUDA(products, library) {
  boxed<&scaled_product>(library, {"_scaled_mm"});
  boxed<&scaled_product_into>(library, {"_scaled_mm.out"});
  library.impl("mm.dtype", &product_of_type<at::_ops::mm>);
  library.impl("mm.dtype_out", &product_of_type_into<at::_ops::mm_out>);
  library.impl("bmm.dtype", &product_of_type<at::_ops::bmm>);
  library.impl("bmm.dtype_out", &product_of_type_into<at::_ops::bmm_out>);
  library.impl("addmm.dtype", &sum_of_type<at::_ops::addmm>);
  library.impl("addmm.dtype_out", &sum_of_type_into<at::_ops::addmm_out>);
  library.impl("baddbmm.dtype", &sum_of_type<at::_ops::baddbmm>);
  library.impl("baddbmm.dtype_out", &sum_of_type_into<at::_ops::baddbmm_out>);
  library.impl("_addmm_activation", &addmm_activation);
  library.impl("_addmm_activation.out", &addmm_activation_out);
}

}  // namespace software
