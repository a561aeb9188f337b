// Random operators on the host, given a generator of the device: torch sends them here by the generator's device.
#include "device.h"
#include "fallback.h"
#include "operators.h"

#include <torch/library.h>

namespace software {
namespace {

// The first tensor's, which is all that counts.
std::optional<c10::DeviceType> place(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  for (auto value = stack.end() - long(op.schema().arguments().size()); value != stack.end(); ++value)
    if (value->isTensor() && value->toTensor().defined()) return value->toTensor().device().type();
  return std::nullopt;
}

void draw(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  auto of_tensors = place(op, *stack);
  TORCH_CHECK(!of_tensors || *of_tensors == settings().type, "Expected a '", c10::DeviceTypeName(*of_tensors, true),
              "' device type for generator but found '", c10::DeviceTypeName(settings().type, true), "'");
  fallback(op, keys, stack);
}

bool takes_generator(const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  auto is_generator = [](const c10::Argument& argument) { return argument.name() == "generator"; };
  return std::any_of(arguments.begin(), arguments.end(), is_generator);
}

}  // namespace

void install_generators() {
  auto& dispatcher = c10::Dispatcher::singleton();
  static torch::Library library(torch::Library::IMPL, "aten", backend_key(), __FILE__, __LINE__);
  for (const auto& name : dispatcher.getRegistrationsForDispatchKey(c10::DispatchKey::CPU)) {
    auto op = dispatcher.findSchema(name);
    if (op && !op->hasKernelForDispatchKey(backend_key()) && takes_generator(op->schema()))
      library.impl(c10::toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&draw>());
  }
}

}  // namespace software
