// Random operators on the host, given a generator of the device: torch sends them here by the generator's device.
#include "device.h"
#include "fallback.h"
#include "operators.h"

#include <torch/library.h>

namespace software {
namespace {

bool has_tensor_elsewhere(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  auto arguments = stack.end() - long(op.schema().arguments().size());
  return arguments->isTensor() && arguments->toTensor().defined() &&
         arguments->toTensor().device().type() != settings().type;
}

void draw(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  if (has_tensor_elsewhere(op, *stack)) {
    auto place = (stack->end() - long(op.schema().arguments().size()))->toTensor().device().type();
    TORCH_CHECK(false, "Expected a '", c10::DeviceTypeName(place, true), "' device type for generator but found '",
                c10::DeviceTypeName(settings().type, true), "'");
  }
  fallback(op, keys, stack);
}

bool takes_generator(const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  bool first = !arguments.empty() && arguments[0].type()->isSubtypeOf(c10::TensorType::get());
  return first && std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& argument) {
           return argument.name() == "generator";
         });
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
