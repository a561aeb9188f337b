// See dtypes.h.
#include "operators/dtypes.h"

#include "operators/kernels.h"
#include "operators/operators.h"
#include "operators/sparse.h"
#include "operators/unboxed.h"

#include <ATen/Operators.h>
#include <ATen/ops/conj_physical.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/sum.h>

#include <cmath>

namespace software {
namespace {

using at::ScalarType;
using at::Tensor;
using c10::IValue;

ScalarType wider(ScalarType narrow) {
  if (narrow == at::kComplexHalf) return at::kComplexFloat;
  if (at::isFloatingType(narrow)) return at::kFloat;
  return narrow == at::kBool ? at::kByte : at::kDouble;
}

// The type of a result that was computed for `narrow` in the wider type.
ScalarType narrowed(ScalarType result, ScalarType narrow) {
  ScalarType wide = wider(narrow);
  if (result == wide) return narrow;
  if (narrow == at::kComplexHalf && result == at::kFloat) return at::kHalf;
  return narrow == at::kHalf && result == at::kComplexFloat ? at::kComplexHalf : result;
}

struct Written {
  Tensor wide, original;
};

// The narrow type of a call's results: none where a wider argument, or the argument "dtype", decides.
class Promotion {
 public:
  Promotion(const Traits& traits, at::ArrayRef<IValue> arguments) : traits_(traits) {
    for (bool of_dimensions : {true, false}) {
      for (const IValue& each : arguments)
        if (each.isTensor() && each.toTensor().defined() && (each.toTensor().dim() > 0) == of_dimensions) add(each.toTensor());
      if (seen_) return;  // numbers do not decide beside tensors
    }
  }
  void ask_for(IValue& dtype) {
    ScalarType wanted = ScalarType(dtype.toInt());
    if (traits_.widens(wanted)) dtype = int64_t(wider(wanted)), narrow_ = wanted;
    else narrow_ = ScalarType::Undefined;
  }
  ScalarType narrow() const { return narrow_; }

 private:
  void add(const Tensor& tensor) {
    ScalarType type = tensor.scalar_type();
    bool index = at::isIntegralType(type, true) && !traits_.widens(type);
    if (index) return;
    narrow_ = traits_.widens(type) && (!seen_ || narrow_ == type) ? type : ScalarType::Undefined;
    seen_ = true;
  }

  const Traits& traits_;
  bool seen_ = false;
  ScalarType narrow_ = ScalarType::Undefined;
};

void refuse_several_types(at::ArrayRef<IValue> arguments) {
  std::optional<ScalarType> first;
  for (const IValue& each : arguments) {
    if (!each.isTensor() || !each.toTensor().defined() || !each.toTensor().is_floating_point()) continue;
    ScalarType type = each.toTensor().scalar_type();
    TORCH_CHECK(!first || *first == type, "expected scalar type ", toString(*first), " but found ", toString(type));
    first = type;
  }
}

void write_narrow(const Written& written) {
  Tensor narrow = written.wide.to(written.original.scalar_type());
  if (narrow.layout() != c10::kStrided) return adopt(written.original, narrow);
  written.original.resize_(narrow.sizes()).copy_(narrow);
}

IValue narrowed(const IValue& result, ScalarType narrow, at::ArrayRef<Written> all) {
  if (!result.isTensor() || !result.toTensor().defined()) return result;
  for (const Written& written : all)
    if (written.wide.is_same(result.toTensor())) return written.original;
  if (narrow == ScalarType::Undefined) return result;
  return result.toTensor().to(narrowed(result.toTensor().scalar_type(), narrow));
}

// The CPU refuses a sum of complex numbers without those that are not numbers.
Tensor nansum(const Tensor& self, at::OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  if (self.is_complex()) return at::sum(self.masked_fill(at::isnan(self), 0), dim, keepdim, dtype);
  return plain<at::_ops::nansum>(self, dim, keepdim, dtype);
}

// torch's own asks for a kernel of the device's type, without the dispatcher.
Tensor& conjugated(Tensor& self) { return self.is_complex() ? self.copy_(at::conj_physical(self)) : self; }

Tensor dropout_backward(const Tensor& gradient, const Tensor& mask, double scale) {
  ScalarType type = gradient.scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(type), "\"masked_scale\" not implemented for '", toString(type), "'");
  return plain<at::_ops::native_dropout_backward>(gradient, mask, scale);
}

// CUDA's numbers are never zero: the least is half the spacing at one, as a float32.
Tensor& exponential(Tensor& self, double rate, std::optional<at::Generator> generator) {
  using Exponential = at::_ops::exponential_;
  bool is_half = self.scalar_type() == at::kHalf || self.scalar_type() == at::kBFloat16;
  if (!is_half) return plain<Exponential>(self, rate, generator);
  Tensor wide = at::empty(self.sizes(), self.options().dtype(at::kFloat));
  return self.copy_(plain<Exponential>(wide, rate, generator).clamp_min_(std::ldexp(1.0, -24) / rate));
}

}  // namespace

bool widens(const Traits& traits, const c10::FunctionSchema& schema, const IValue* values) {
  for (size_t i = 0; i < schema.arguments().size(); i++) {
    if (widens(traits, values[i])) return true;
    bool is_dtype = schema.arguments()[i].name() == "dtype" && values[i].isInt();
    if (is_dtype && traits.widens(ScalarType(values[i].toInt()))) return true;
  }
  return false;
}

void widened(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  widen(op, traits(op.schema().name().c_str()), stack);
}

void widen(const c10::OperatorHandle& op, const Traits& own, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  IValue* values = stack->data() + (stack->size() - arguments.size());
  if (own.takes_one_type) refuse_several_types(at::ArrayRef<IValue>(values, arguments.size()));
  Promotion promotion(own, at::ArrayRef<IValue>(values, arguments.size()));
  std::vector<Written> all;
  bool is_sparse = false;
  for (size_t i = 0; i < arguments.size(); i++) {
    if (arguments[i].name() == "dtype" && values[i].isInt()) promotion.ask_for(values[i]);
    if (!widens(own, values[i])) continue;
    Tensor original = values[i].toTensor();
    is_sparse |= original.layout() != c10::kStrided;
    values[i] = original.to(wider(original.scalar_type()));
    if (arguments[i].alias_info() && arguments[i].alias_info()->isWrite()) all.push_back({values[i].toTensor(), original});
  }
  if (is_sparse) op.callBoxed(stack);
  else op.redispatchBoxed(c10::DispatchKeySet(backend_key()), stack);
  for (const Written& written : all) write_narrow(written);
  for (auto result = stack->end() - long(op.schema().returns().size()); result != stack->end(); result++)
    *result = narrowed(*result, promotion.narrow(), all);
}

KERNELS_OF_CUDA(dtypes, library) {
  library_for(WIDENING, "_").fallback(torch::CppFunction::makeFromBoxedFunction<&widened>());
  library.impl("nansum", &nansum);
  library.impl("conj_physical_", &conjugated);
  library.impl("exponential_", &exponential);
  library.impl("native_dropout_backward", &dropout_backward);
}

}  // namespace software
