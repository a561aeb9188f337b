// Variants that CUDA computes by the operator itself and the CPU by kernels of their own, with other errors, other
// layouts or without an option.
#include "operators/fallback.h"
#include "operators/kernels.h"
#include "operators/operators.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/channel_shuffle_native.h>
#include <ATen/ops/pixel_shuffle_native.h>
#include <ATen/ops/pixel_unshuffle_native.h>

namespace software {
namespace {

using at::Tensor;
using torch::jit::Stack;

void write_result(const Tensor& output, const Tensor& result) {
  TORCH_CHECK(output.device() == result.device(), "Expected all tensors to be on the same device, but found at ",
              "least two devices, ", result.device(), " and ", output.device(), "!");
  TORCH_CHECK(c10::canCast(result.scalar_type(), output.scalar_type()), "result type ", result.scalar_type(),
              " can't be cast to the desired output type ", output.scalar_type());
  bool resized = at::native::resize_output(output, result.sizes());
  if (resized && result.is_non_overlapping_and_dense()) output.as_strided_(result.sizes(), result.strides());
  output.copy_(result);
}

// An out= variant, whose outputs are its last arguments.
void into_outputs(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  std::string functional = schema.overload_name();  // "Scalar" of "Scalar_out", "" of "out" and "output"
  functional.resize(functional.ends_with("_out") ? functional.size() - 4 : 0);
  size_t count = schema.returns().size();
  std::vector<c10::IValue> outputs = torch::jit::pop(*stack, count);
  c10::Dispatcher::singleton().findSchemaOrThrow(schema.name().c_str(), functional.c_str()).callBoxed(stack);
  std::vector<c10::IValue> results = torch::jit::pop(*stack, count);
  for (size_t i = 0; i < count; i++) write_result(outputs[i].toTensor(), results[i].toTensor());
  for (c10::IValue& output : outputs) stack->push_back(std::move(output));
}

Tensor narrow_copy(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  return self.narrow(dim, start, length).clone(at::MemoryFormat::Contiguous);
}

// Where the CPU's kernel keeps the memory format.
void made_contiguous(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  fallback(op, keys, stack);
  stack->back() = stack->back().toTensor().contiguous();
}

}  // namespace

KERNELS_OF_CUDA(outputs, library) {
  boxed<&into_outputs>(library, {"linalg_lu_factor_ex.out", "linalg_lu.out", "native_batch_norm.out",
                           "_native_batch_norm_legit.out", "avg_pool3d.out", "pow.Scalar_out", "pow.Tensor_Scalar_out",
                           "remainder.Tensor_out", "remainder.Scalar_Tensor_out", "fmod.Tensor_out", "histc.out",
                           "nansum.out", "log_sigmoid_forward.output", "max_unpool2d.out"});
  library.impl("narrow_copy", &narrow_copy);
  boxed<&made_contiguous>(library, {"linalg_eig", "max_unpool2d", "roll", "reflection_pad2d", "replication_pad2d"});
  library.impl("channel_shuffle", &at::native::channel_shuffle);
  library.impl("pixel_shuffle", &at::native::math_pixel_shuffle);
  library.impl("pixel_unshuffle", &at::native::math_pixel_unshuffle);
}

}  // namespace software
