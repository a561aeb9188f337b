// The kernel that an operator has for a dispatch key, which stays usable after another has been registered over it.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>

#include <utility>

namespace seam {

// torch before 2.9 returns no kernel; the entry that holds it is a private member, which this reads.
template <auto Member>
struct Reader {
  friend auto definition(const c10::OperatorHandle& op) { return op.*Member; }
};
auto definition(const c10::OperatorHandle& op);
template struct Reader<&c10::OperatorHandle::operatorDef_>;

template <class Operator>
auto kernel_of(const Operator& op, c10::DispatchKey key) {
  if constexpr (requires { op.getComputedKernelForDispatchKey(key); })
    return op.getComputedKernelForDispatchKey(key);
  else
    return definition(op)->op.lookup(c10::DispatchKeySet(key));
}

using Kernel = decltype(kernel_of(std::declval<const c10::OperatorHandle&>(), c10::DispatchKey::CPU));

}  // namespace seam
