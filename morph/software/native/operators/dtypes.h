// Types that CUDA computes and the CPU's kernels refuse: computed in a wider one, as CUDA's own kernels do inside.
#pragma once

#include "operators/call.h"

#include <ATen/core/dispatch/Dispatcher.h>

namespace software {

// A call that is sent to this key by redispatching is widened; nothing else in torch uses it.
constexpr c10::DispatchKey WIDENING = c10::DispatchKey::TESTING_ONLY_GenericWrapper;

inline bool widens(const Traits& traits, const at::Tensor& tensor) {
  return on_device(tensor) && traits.widens(tensor.scalar_type());
}
inline bool widens(const Traits& traits, const c10::IValue& value) {
  return value.isTensor() && widens(traits, value.toTensor());
}
inline bool widens(const Traits& traits, std::optional<c10::ScalarType> dtype) {
  return dtype && traits.widens(*dtype);
}
bool widens(const Traits& traits, const c10::FunctionSchema& schema, const c10::IValue* values);
template <class Other>
bool widens(const Traits&, const Other&) {
  return false;
}

void widen(const c10::OperatorHandle& op, const Traits& own, torch::jit::Stack* stack);
void widened(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack);

}  // namespace software
