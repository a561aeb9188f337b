// The boxed kernel that serves every operator without one of its own.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace software {

void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack);

// Overrides the kernels of a torch built for the device; returns whether it was built so.
bool displace_kernels();
bool is_displaced();

}  // namespace software
