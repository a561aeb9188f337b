// Clamping by numbers: halves between numbers that are none, and what is no number.
#include "operators/kernels.h"
#include "operators/operators.h"
#include "operators/unboxed.h"

#include <ATen/Operators.h>

#include <cmath>
#include <limits>

namespace software {
namespace {

using at::Scalar;
using at::Tensor;
using Limit = std::optional<Scalar>;

// CUDA compares halves with a limit in float32.
Limit as_half(const Tensor& self, const Limit& limit) {
  if (!limit || limit->isComplex() || self.scalar_type() != at::kHalf) return limit;
  return Scalar(double(float(at::Half(limit->to<float>()))));
}
// A single limit that is not a number limits nothing.
Limit passable(const Limit& limit, const Limit& other, double infinity) {
  bool is_number = !limit || other || !limit->isFloatingPoint() || !std::isnan(limit->toDouble());
  return is_number ? limit : Limit(infinity);
}

template <class Operator, class Self, class Result = Tensor>
Result clamped(Self self, const Limit& min, const Limit& max) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return plain<Operator>(self, as_half(self, passable(min, max, -infinity)),
                         as_half(self, passable(max, min, infinity)));
}
template <class Operator, class Self, class Result = Tensor>
Result clamped_by(Self self, const Scalar& limit) {
  return plain<Operator>(self, *as_half(self, limit));
}

}  // namespace

KERNELS_OF_CUDA(limits, library) {
  library.impl("clamp", &clamped<at::_ops::clamp, const Tensor&>);
  library.impl("clamp_", &clamped<at::_ops::clamp_, Tensor&, Tensor&>);
  library.impl("clamp_min", &clamped_by<at::_ops::clamp_min, const Tensor&>);
  library.impl("clamp_min_", &clamped_by<at::_ops::clamp_min_, Tensor&, Tensor&>);
  library.impl("clamp_max", &clamped_by<at::_ops::clamp_max, const Tensor&>);
  library.impl("clamp_max_", &clamped_by<at::_ops::clamp_max_, Tensor&, Tensor&>);
}

}  // namespace software
