// Operators that the target has no kernel for are computed on the host, which a line says once for each.
#include "seam.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/CPUFallback.h>
#include <torch/library.h>

#include <list>
#include <mutex>
#include <set>

namespace seam {
namespace {

using c10::DispatchKey;
using c10::OperatorHandle;

// Never destroyed: at exit other threads may still dispatch.
std::list<torch::Library>& host_libraries = *new std::list<torch::Library>;

void say_on_host(const OperatorHandle& op) {
  static std::mutex mutex;
  static auto& said = *new std::set<std::string>;
  auto name = c10::toString(op.operator_name());
  std::lock_guard guard(mutex);
  if (said.insert(name).second)
    std::fprintf(stderr, "morph: %s is computed on the host: the device has no kernel for it\n", name.c_str());
}

void compute_on_host(const OperatorHandle& op, torch::jit::Stack* stack) {
  say_on_host(op);
  at::native::cpu_fallback(op, stack);
}

bool is_without_kernel(const OperatorHandle& op, DispatchKey key) {
  if (!op.hasKernelForDispatchKey(DispatchKey::CPU)) return false;
  for (auto own : {key, DispatchKey::CompositeExplicitAutograd, DispatchKey::CompositeImplicitAutograd,
                   DispatchKey::CompositeExplicitAutogradNonFunctional})
    if (op.hasKernelForDispatchKey(own)) return false;
  return true;
}

}  // namespace

void compute_rest_on_host() {
  disengage_host();
  auto key = c10::computeDispatchKey({}, {}, c10::Device(target()));
  auto& library = host_libraries.emplace_back(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
  for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
    auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op || name.name.rfind("aten::", 0) != 0 || !is_without_kernel(*op, key)) continue;
    library.impl(c10::toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&compute_on_host>());
  }
}

void disengage_host() { host_libraries.clear(); }

}  // namespace seam
