// Softmax of half precision with a result in single precision, which torch has for CUDA only.
#include "device/device.h"
#include "operators/fallback.h"
#include "operators/operators.h"

#include <torch/library.h>

namespace software {
namespace {

using at::Tensor;
using torch::jit::Stack;

// (Tensor self, int dim, bool half_to_float, …)
void widening(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  auto arguments = stack->end() - long(op.schema().arguments().size());
  if (arguments[2].toBool()) {
    Tensor self = arguments[0].toTensor();
    TORCH_CHECK(self.scalar_type() == at::kHalf, "conversion is supported for Half type only");
    arguments[0] = self.to(at::kFloat);
    arguments[2] = false;
  }
  fallback(op, keys, stack);
}

// (Tensor grad_output, Tensor output, int dim, ScalarType input_dtype)
void narrowing(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  auto arguments = stack->end() - long(op.schema().arguments().size());
  auto from = arguments[0].toTensor().scalar_type(), to = arguments[3].toScalarType();
  if (from == to) return fallback(op, keys, stack);
  TORCH_CHECK(from == at::kFloat && to == at::kHalf,
              "expected input and grad types to match, or input to be at::Half and grad to be at::Float");
  arguments[3] = from;
  fallback(op, keys, stack);
  stack->back() = stack->back().toTensor().to(to);
}

}  // namespace

void install_softmax() {
  if (settings().type != c10::DeviceType::CUDA) return;
  static torch::Library library(torch::Library::IMPL, "aten", backend_key(), __FILE__, __LINE__);
  for (const char* name : {"_softmax", "_softmax.out", "_log_softmax", "_log_softmax.out"})
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&widening>());
  for (const char* name : {"_softmax_backward_data", "_log_softmax_backward_data"})
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&narrowing>());
}

}  // namespace software
