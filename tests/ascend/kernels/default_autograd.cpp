#include "kernels/default_autograd.h"

#include <ATen/ATen.h>

namespace soft_cann {
namespace {

// The rows of a padded sequence that are not padding.
at::Tensor rows_in_use(const at::Tensor &batch_sizes) {
  at::Tensor in_use = at::arange(batch_sizes[0].item()).lt(batch_sizes.unsqueeze(1));
  return in_use.flatten().nonzero().flatten();
}

at::Tensor put_rows(const at::Tensor &values, const at::Tensor &rows, int64_t count) {
  return at::zeros({count, values.size(1)}, values.options()).index_copy(0, rows, values);
}

// torch before 2.9 gives out no computed kernel.
template <typename Operator>
void run_computed_kernel(const Operator &op, c10::DispatchKey key, c10::DispatchKeySet keys,
                         torch::jit::Stack *stack) {
  if constexpr (requires { op.getComputedKernelForDispatchKey(key); })
    op.getComputedKernelForDispatchKey(key).callBoxed(op, keys, stack);
  else
    op.callBoxedForDispatchKey(key, *stack);
}

}  // namespace

void run_default_autograd(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack) {
  run_computed_kernel(op, c10::DispatchKey::AutogradXLA, keys, stack);
}

void run_lstm_on_padded(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack) {
  c10::IValue &data = *(stack->end() - int64_t(op.schema().arguments().size()));
  at::Tensor padded = data.toTensor(), batch_sizes = (&data)[1].toTensor().cpu();
  at::Tensor rows = rows_in_use(batch_sizes);
  if (rows.size(0) == padded.size(0)) return run_default_autograd(op, keys, stack);
  rows = rows.to(padded.device());
  data = padded.index_select(0, rows);
  run_default_autograd(op, keys, stack);
  c10::IValue &output = *(stack->end() - int64_t(op.schema().returns().size()));
  output = put_rows(output.toTensor(), rows, padded.size(0));
}

}  // namespace soft_cann
