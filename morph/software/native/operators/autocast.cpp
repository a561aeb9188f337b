// Autocast with torch's own operator lists (ATen/autocast_mode.h), as one boxed kernel for each cast policy.
#include "operators/kernels.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>

namespace software {
namespace {

using at::Tensor;
using c10::IValue;
using c10::OperatorHandle;
using torch::jit::Stack;

#define NAME_1(op) "aten::" #op
#define NAME_2(op, overload) "aten::" #op "." #overload
#define NAME_OF(_1, _2, which, ...) which
#define NAME(...) NAME_OF(__VA_ARGS__, NAME_2, NAME_1)(__VA_ARGS__),

const char* const kLowerPrecision[] = {AT_FORALL_LOWER_PRECISION_FP(NAME)};
const char* const kFloat32[] = {AT_FORALL_FP32(NAME)};
const char* const kFloat32ByDtype[] = {AT_FORALL_FP32_SET_OPT_DTYPE(NAME)};
const char* const kWidest[] = {AT_FORALL_PROMOTE(NAME)};
// The two of AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE, each with the overload that takes a dtype.
const std::pair<const char*, const char*> kFloat32Appended[] = {{"norm.Scalar", "ScalarOpt_dtype"},
                                                                {"norm.ScalarOpt_dim", "ScalarOpt_dim_dtype"}};

bool eligible(const Tensor& tensor) {
  return tensor.defined() && at::autocast::is_autocast_eligible(tensor, settings().type);
}

template <typename Function>
void each_argument(const OperatorHandle& op, Stack* stack, Function function) {
  size_t count = op.schema().arguments().size();
  for (auto value = stack->end() - long(count); value != stack->end(); ++value) function(*value);
}

void cast(const OperatorHandle& op, Stack* stack, at::ScalarType dtype) {
  auto casted = [&](const Tensor& tensor) { return at::autocast::cached_cast(dtype, tensor, settings().type); };
  each_argument(op, stack, [&](IValue& value) {
    if (value.isTensor()) {
      value = casted(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<Tensor> list;
      for (const Tensor& tensor : value.toTensorList()) list.push_back(casted(tensor));
      value = list;
    }
  });
}

at::ScalarType lower_precision() { return at::autocast::get_lower_precision_fp_from_device_type(settings().type); }

c10::impl::ExcludeDispatchKeyGuard without_autocast() {
  return c10::impl::ExcludeDispatchKeyGuard(
      at::autocast::get_autocast_dispatch_key_from_device_type(settings().type));
}

void to_lower_precision(const OperatorHandle& op, Stack* stack) {
  auto guard = without_autocast();
  cast(op, stack, lower_precision());
  op.callBoxed(stack);
}

void to_float32(const OperatorHandle& op, Stack* stack) {
  auto guard = without_autocast();
  cast(op, stack, at::kFloat);
  op.callBoxed(stack);
}

void to_widest(const OperatorHandle& op, Stack* stack) {
  auto guard = without_autocast();
  at::ScalarType widest = lower_precision();
  auto consider = [&](const Tensor& tensor) { widest = at::autocast::prioritize(widest, tensor, settings().type); };
  each_argument(op, stack, [&](IValue& value) {
    if (value.isTensor()) consider(value.toTensor());
    if (value.isTensorList())
      for (const Tensor& tensor : value.toTensorList()) consider(tensor);
  });
  cast(op, stack, widest);
  op.callBoxed(stack);
}

void with_float32_dtype(const OperatorHandle& op, Stack* stack) {
  auto guard = without_autocast();
  const auto& arguments = op.schema().arguments();
  size_t first = stack->size() - arguments.size();
  IValue& self = (*stack)[first];
  bool applies = self.isTensor() && eligible(self.toTensor()) && self.toTensor().scalar_type() != at::kDouble;
  for (size_t i = 0; applies && i < arguments.size(); i++)
    if (arguments[i].name() == "dtype" && (*stack)[first + i].isNone()) (*stack)[first + i] = at::kFloat;
  op.callBoxed(stack);
}

void with_float32_appended(const OperatorHandle& op, Stack* stack) {
  auto guard = without_autocast();
  const Tensor self = (*stack)[stack->size() - op.schema().arguments().size()].toTensor();
  if (!eligible(self) || self.scalar_type() == at::kDouble) return op.callBoxed(stack);
  for (auto& [name, overload] : kFloat32Appended)
    if (std::string("norm.") + op.schema().overload_name() == name) {
      stack->emplace_back(at::kFloat);
      return c10::Dispatcher::singleton().findSchemaOrThrow("aten::norm", overload).callBoxed(stack);
    }
}

// See the note "Banned functions" in ATen/autocast_mode.cpp.
void refuse_cross_entropy(const OperatorHandle&, Stack*) {
  TORCH_CHECK(false,
              "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
              "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
              "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
              "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
              "safe to autocast.");
}

constexpr auto kAutocast = c10::DispatchKey::AutocastPrivateUse1;

}  // namespace

void install_autocast() {
  if (known_to_torch()) return;  // torch brings its own
  library_for(kAutocast, "_").fallback(torch::CppFunction::makeFallthrough());
  torch::Library& library = library_for(kAutocast);
  boxed<&to_lower_precision>(library, kLowerPrecision);
  boxed<&to_float32>(library, kFloat32);
  boxed<&with_float32_dtype>(library, kFloat32ByDtype);
  boxed<&to_widest>(library, kWidest);
  for (auto& [name, overload] : kFloat32Appended) boxed<&with_float32_appended>(library, {name});
  boxed<&refuse_cross_entropy>(library, {"binary_cross_entropy"});
}

}  // namespace software
