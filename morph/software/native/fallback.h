// The boxed kernel that serves every operator without one of its own.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace software {

void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack);

// Puts kernels before those of a torch that was built for the device; says whether it was.
bool displace_kernels();
bool is_displaced();

}  // namespace software
