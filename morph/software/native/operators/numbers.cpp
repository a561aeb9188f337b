// See numbers.h.
#include "operators/numbers.h"

#include <ATen/ScalarOps.h>

#include <cmath>
#include <limits>
#include <optional>

namespace software {
namespace {

std::optional<c10::Scalar> value_of(const at::Tensor& number) {
  if (number.scalar_type() == at::kDouble) return *number.const_data_ptr<double>();
  if (number.scalar_type() == at::kLong) return *number.const_data_ptr<int64_t>();
  return std::nullopt;
}

bool holds(c10::ScalarType type, const c10::Scalar& value) {
  if (type == at::kDouble || type == at::kComplexDouble) return true;
  double size = std::abs(value.toDouble());
  if (type == at::kFloat || type == at::kComplexFloat) return !(size > std::numeric_limits<float>::max());
  return type == at::kInt && value.isIntegral(false) && size < std::numeric_limits<int32_t>::max();
}

}  // namespace

at::Tensor number_as(const at::Tensor& number, c10::ScalarType type) {
  std::optional<c10::Scalar> value = value_of(number);
  if (number.scalar_type() == type || !value || !holds(type, *value)) return number;
  at::Tensor other = at::detail::scalar_tensor_static(*value, type, c10::kCPU);
  other.unsafeGetTensorImpl()->set_wrapped_number(true);
  return other;
}

}  // namespace software
