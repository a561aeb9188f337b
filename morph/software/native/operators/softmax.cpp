// Softmax of half precision with a result in single precision, which torch has for CUDA only.
#include "operators/fallback.h"
#include "operators/kernels.h"
#include "operators/operators.h"
#include "operators/unboxed.h"

#include <ATen/Operators.h>

namespace software {
namespace {

using at::Tensor;
using torch::jit::Stack;

Tensor in_single(const Tensor& self) {
  TORCH_CHECK(self.scalar_type() == at::kHalf, "conversion is supported for Half type only");
  return self.to(at::kFloat);
}

template <class Operator>
Tensor widening(const Tensor& self, int64_t dim, bool to_single) {
  return to_single ? plain<Operator>(in_single(self), dim, false) : plain<Operator>(self, dim, false);
}

// (Tensor self, int dim, bool half_to_float, *, Tensor(a!) out)
void widening_into(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  auto arguments = stack->end() - long(op.schema().arguments().size());
  if (arguments[2].toBool()) {
    arguments[0] = in_single(arguments[0].toTensor());
    arguments[2] = false;
  }
  fallback(op, keys, stack);
}

template <class Operator>
Tensor narrowing(const Tensor& gradient, const Tensor& output, int64_t dim, at::ScalarType to) {
  auto from = gradient.scalar_type();
  if (from == to) return plain<Operator>(gradient, output, dim, to);
  TORCH_CHECK(from == at::kFloat && to == at::kHalf,
              "expected input and grad types to match, or input to be at::Half and grad to be at::Float");
  return plain<Operator>(gradient, output, dim, from).to(to);
}

}  // namespace

KERNELS_OF_CUDA(softmax, library) {
  library.impl("_softmax", &widening<at::_ops::_softmax>);
  library.impl("_log_softmax", &widening<at::_ops::_log_softmax>);
  boxed<&widening_into>(library, {"_softmax.out", "_log_softmax.out"});
  library.impl("_softmax_backward_data", &narrowing<at::_ops::_softmax_backward_data>);
  library.impl("_log_softmax_backward_data", &narrowing<at::_ops::_log_softmax_backward_data>);
}

}  // namespace software
