// The kernel that an operator has for a dispatch key, which stays usable after another has been registered over it.
#pragma once
#include "seam.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <list>
#include <string>
#include <unordered_map>
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

// Kernels over the target's own, which they may call.
class Over {
 public:
  // Of an operator that the target has a kernel for, by its whole name.
  template <c10::BoxedKernel::BoxedKernelFunction_withDispatchKeys* function>
  void put(const std::string& name) {
    Quiet quiet;
    c10::WarningUtils::WarningHandlerGuard guard(&quiet);
    auto key = c10::computeDispatchKey({}, {}, c10::Device(target()));
    auto op = c10::Dispatcher::singleton().findSchema({name, ""});
    if (!op || !op->hasKernelForDispatchKey(key)) return;
    targets_.emplace(&op->operator_name(), kernel_of(*op, key));
    libraries_.emplace_back(torch::Library::IMPL, name.substr(0, name.find(':')), key, __FILE__, __LINE__)
        .impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<function>());
  }
  void call_targets(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) const {
    targets_.at(&op.operator_name()).callBoxed(op, keys, stack);
  }
  void remove() {
    while (!libraries_.empty()) libraries_.pop_back();
    targets_.clear();
  }

 private:
  std::list<torch::Library> libraries_;
  std::unordered_map<const void*, Kernel> targets_;
};

}  // namespace seam
