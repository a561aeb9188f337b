// Operators of the target that refuse a memory format such as channels_last run without it; a warning says so once.
#include "kernel.h"
#include "seam.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <atomic>
#include <cstdio>
#include <list>
#include <unordered_map>

namespace seam {
namespace {

using c10::DispatchKey;
using c10::MemoryFormat;
using torch::jit::Stack;
using Kernels = std::unordered_map<const void*, Kernel>;

// Never destroyed: at exit other threads may still dispatch.
std::list<torch::Library>& format_libraries = *new std::list<torch::Library>;
Notice& format_notice = *new Notice;

Kernels& kernels(bool of_autograd) {
  static Kernels* both = new Kernels[2];
  return both[of_autograd];
}

bool is_refused(MemoryFormat format) {
  return format == MemoryFormat::ChannelsLast || format == MemoryFormat::ChannelsLast3d;
}

// Removes the format from the arguments, and returns it if it is refused.
MemoryFormat without_format(const c10::OperatorHandle& op, Stack& stack) {
  const auto& arguments = op.schema().arguments();
  auto last = op.schema().argumentIndexWithName("memory_format");
  c10::IValue& value = stack[stack.size() - arguments.size() + size_t(*last)];
  if (value.isNone() || !is_refused(value.toMemoryFormat())) return MemoryFormat::Preserve;
  MemoryFormat format = value.toMemoryFormat();
  bool optional = arguments[size_t(*last)].type()->kind() == c10::TypeKind::OptionalType;
  value = optional ? c10::IValue() : c10::IValue(MemoryFormat::Contiguous);
  return format;
}

// A tensor that was moved to the host gets the format there.
void format_on_host(Stack& stack, MemoryFormat format) {
  if (!stack.back().isTensor()) return;
  at::Tensor result = stack.back().toTensor();
  if (result.device().type() == target()) return format_notice.say();
  stack.back() = result.contiguous(format);
}

template <bool of_autograd>
void compute(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  MemoryFormat format = without_format(op, *stack);
  kernels(of_autograd).at(&op.operator_name()).callBoxed(op, keys, stack);
  if (is_refused(format)) format_on_host(*stack, format);
}

template <bool of_autograd>
void wrap(const c10::OperatorHandle& op, DispatchKey key) {
  if (!op.hasKernelForDispatchKey(key)) return;
  kernels(of_autograd).emplace(&op.operator_name(), kernel_of(op, key));
  format_libraries.emplace_back(torch::Library::IMPL, "aten", key, __FILE__, __LINE__)
      .impl(c10::toString(op.operator_name()).c_str(), torch::CppFunction::makeFromBoxedFunction<&compute<of_autograd>>());
}

// torch warns when a kernel replaces another; here that is intended, and undone later.
}  // namespace

void leave_out_formats(const std::vector<std::string>& operators, const std::string& saying) {
  Quiet quiet;
  c10::WarningUtils::WarningHandlerGuard guard(&quiet);
  disengage_formats();
  format_notice.line = saying;
  auto key = c10::computeDispatchKey({}, {}, c10::Device(target()));
  auto autograd = c10::getAutogradKeyFromBackend(c10::toBackendComponent(key));
  for (const auto& name : operators) {
    auto dot = std::min(name.find('.'), name.size());
    auto overload = dot < name.size() ? name.substr(dot + 1) : "";
    auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name.substr(0, dot).c_str(), overload.c_str());
    TORCH_CHECK(op.schema().argumentIndexWithName("memory_format"), name, " takes no memory format");
    wrap<false>(op, key);
    wrap<true>(op, autograd);
  }
}

void disengage_formats() {
  while (!format_libraries.empty()) format_libraries.pop_back();
  kernels(false).clear();
  kernels(true).clear();
}

}  // namespace seam
