// A torch built for the device has kernels of its own, which need a driver. Each is overridden by what a torch
// without it would do: decompose the operator, or run the CPU's kernel.
#include "device/device.h"
#include "operators/fallback.h"
#include "operators/kernels.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>

namespace software {
namespace {

using c10::DispatchKey;
bool displaced = false;

struct Silence : c10::WarningHandler {
  void process(const c10::Warning&) override {}  // torch warns when a kernel comes before another
};

// A device without any kernels keeps torch's composite ones.
void compose(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  op.redispatchBoxed(c10::DispatchKeySet(DispatchKey::VE), stack);
}

bool is_composed(const c10::OperatorHandle& op, DispatchKey hosts) {
  bool dense = hosts == DispatchKey::CPU;
  if (!dense && op.hasKernelForDispatchKey(hosts)) return false;
  if (op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd)) return true;
  if (dense && op.hasKernelForDispatchKey(hosts)) return false;
  return op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) ||
         (dense && op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional));
}

void displace(DispatchKey key, DispatchKey hosts) {
  auto& dispatcher = c10::Dispatcher::singleton();
  torch::Library& library = library_for(key);
  for (const c10::OperatorName& name : dispatcher.getRegistrationsForDispatchKey(key)) {
    auto op = dispatcher.findSchema(name);
    if (!op || name.getNamespace() != "aten") continue;
    bool composed = is_composed(*op, hosts);
    library.impl(c10::toString(name).c_str(), composed ? torch::CppFunction::makeFromBoxedFunction<&compose>()
                                                       : torch::CppFunction::makeFromBoxedFunction<&fallback>());
  }
}

}  // namespace

bool is_displaced() { return displaced; }

bool displace_kernels() {
  auto empty = c10::Dispatcher::singleton().findSchemaOrThrow("aten::empty", "memory_format");
  displaced = empty.hasKernelForDispatchKey(backend_key());
  if (!displaced) return false;
  Silence silence;
  c10::WarningUtils::WarningHandlerGuard guard(&silence);
  displace(backend_key(), DispatchKey::CPU);
  displace(sparse_key(false), DispatchKey::SparseCPU);
  displace(sparse_key(true), DispatchKey::SparseCsrCPU);
  return true;
}

}  // namespace software
