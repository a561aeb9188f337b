// Operators whose autograd kernels in torch_npu end in graph-mode operators.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace soft_cann {

// PyTorch's own kernel, its decomposition or its derivative formula, which is what the autograd key of a
// backend that registers nothing resolves to.
void run_default_autograd(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack);

// The same for lstm.data. torch_npu's packed sequences keep their padding, and so do the results of its LSTM.
void run_lstm_on_padded(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack);

}  // namespace soft_cann
