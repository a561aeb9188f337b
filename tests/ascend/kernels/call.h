// One call of an operator on the device's tensors, done by the host's kernel.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace soft_cann {

// A boxed kernel.
void run_on_host(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack);

}  // namespace soft_cann
