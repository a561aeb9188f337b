// One boxed kernel for every operator: it views device tensors as CPU tensors on the same memory and calls
// the CPU's kernel, which allocates its results in device memory. Nothing is copied.
#include "operators/fallback.h"

#include "operators/call.h"
#include "operators/dtypes.h"
#include "device/random.h"
#include "operators/kernels.h"


#include <set>

namespace software {
namespace {

using at::Tensor;
using c10::IValue;

// TorchScript's lists have a type object of their own: equal to the dispatcher's but not identical, which is
// all that IValue::isOptionalTensorList compares.
bool is_optional_tensor_list(const IValue& value) {
  return value.isList() && !value.isTensorList() &&
         value.toList().elementType()->isSubtypeOf(*c10::OptionalType::ofTensor());
}

template <typename Function>
IValue each_tensor(const IValue& value, Function function) {
  if (value.isTensor()) return function(value.toTensor());
  if (value.isTensorList()) {
    c10::List<Tensor> list;
    for (const Tensor& tensor : value.toTensorList()) list.push_back(function(tensor));
    return list;
  }
  if (is_optional_tensor_list(value)) {
    c10::List<std::optional<Tensor>> list;
    for (const IValue& tensor : value.toListRef())
      list.push_back(tensor.isNone() ? std::nullopt : std::optional<Tensor>(function(tensor.toTensor())));
    return list;
  }
  return value;
}

void consider(Call& call, at::ArrayRef<IValue> arguments) {
  for (const IValue& value : arguments) {
    if (value.isTensor()) call.consider(value.toTensor());
    if (value.isTensorList())
      for (const Tensor& tensor : value.toTensorList()) call.consider(tensor);
    if (is_optional_tensor_list(value))
      for (const IValue& tensor : value.toListRef())
        if (!tensor.isNone()) call.consider(tensor.toTensor());
    if (value.isDevice()) call.consider(value.toDevice());
  }
  call.considered();
}

void refuse_without_host_kernel(const c10::OperatorHandle& op, const Traits& own) {
  bool ours = op.schema().name().rfind("aten::", 0) == 0 && !own.is_missing;
  for (auto key : {c10::DispatchKey::CPU, c10::DispatchKey::SparseCPU, c10::DispatchKey::SparseCsrCPU})
    if (ours && op.hasComputedKernelForDispatchKey(key)) return;
  TORCH_CHECK_NOT_IMPLEMENTED(false, "Could not run '", op.operator_name(), "' with arguments from the '",
                              c10::toString(backend_key()),
                              "' backend. This could be because the operator doesn't exist for this backend: "
                              "it has no kernel for this device.");
}

std::vector<IValue> to_host(Call& call, const c10::OperatorHandle& op, IValue* values) {
  const auto& arguments = op.schema().arguments();
  std::vector<IValue> devices(values, values + arguments.size());  // kept alive during the call
  for (size_t i = 0; i < arguments.size(); i++) {
    bool written = arguments[i].alias_info() && arguments[i].alias_info()->isWrite();
    if (values[i].isDevice() && values[i].toDevice().type() == settings().type)
      values[i] = c10::Device(c10::kCPU);
    else
      values[i] = each_tensor(devices[i], [&](const Tensor& tensor) { return call.to_host(tensor, written); });
  }
  return devices;
}

// Random operators draw from a generator of the CPU's that is seeded from the device's.
void seed(Call& call, const c10::OperatorHandle& op, IValue* values, std::optional<SeededDefault>& seeded) {
  bool random = op.hasTag(at::Tag::nondeterministic_seeded);
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); i++) {
    std::optional<at::Generator> wanted;
    if (values[i].isGenerator()) wanted = values[i].toGenerator();
    else if (!random || arguments[i].name() != "generator") continue;
    values[i] = seeded_generator(wanted, call.device());
    return;
  }
  if (random) seeded.emplace(call.device());
}

void run(Call& call, const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  Running running(call);
  call.asserting([&] {
    if (call.sparse()) op.callBoxed(stack);  // one of the CPU's sparse keys
    else op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  });
}

// Moved out of the stack, so that this is their only owner.
std::vector<Tensor> take_tensors(IValue* values, size_t count) {
  std::vector<Tensor> all;
  for (IValue* value = values; value < values + count; value++) {
    if (value->isTensor()) all.push_back(std::move(*value).toTensor());
    else if (value->isTensorList())
      for (c10::List<Tensor> list = value->toTensorList(); size_t i : c10::irange(list.size()))
        all.push_back(list.extract(i));
  }
  return all;
}

void results_to_device(Call& call, IValue* values, size_t count) {
  std::vector<bool> single, lists;
  for (size_t i = 0; i < count; i++) single.push_back(values[i].isTensor()), lists.push_back(values[i].isTensorList());
  std::vector<Tensor> tensors = take_tensors(values, count);
  std::vector<Tensor*> results;
  for (Tensor& tensor : tensors) results.push_back(&tensor);
  call.to_device(results);
  auto next = tensors.begin();
  for (size_t i = 0; i < count; i++) {
    if (single[i]) values[i] = std::move(*next++);
    if (!lists[i]) continue;
    c10::List<Tensor> list = values[i].toTensorList();
    for (size_t each = 0; each < list.size(); each++) list.set(each, std::move(*next++));
  }
}

// The operators on lists take tensors of several devices, one after the other, as CUDA's do.
bool on_several_devices(const c10::FunctionSchema& schema, const IValue* values) {
  if (schema.name().rfind("aten::_foreach_", 0) != 0) return false;
  std::set<std::string> devices;
  for (size_t i = 0; i < schema.arguments().size(); i++)
    if (values[i].isTensorList())
      for (const Tensor& tensor : values[i].toTensorList()) devices.insert(tensor.device().str());
  return devices.size() > 1;
}

}  // namespace

void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  const Traits& own = traits(schema.name().c_str());
  refuse_without_host_kernel(op, own);
  IValue* values = stack->data() + (stack->size() - schema.arguments().size());
  if (own.widened && widens(own, schema, values)) return widened(op, c10::DispatchKeySet(), stack);
  if (on_several_devices(schema, values)) return op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  Call call(schema.name().c_str(), own, schema.arguments().size(), !schema.is_mutable());
  consider(call, at::ArrayRef<IValue>(values, schema.arguments().size()));
  std::vector<IValue> devices = to_host(call, op, values);
  {
    std::optional<SeededDefault> seeded;
    seed(call, op, values, seeded);
    run(call, op, stack);
  }
  call.write_back(true);
  size_t count = schema.returns().size();
  results_to_device(call, stack->data() + (stack->size() - count), count);
}

namespace {

// torch's own kernels for other backends call the out= variants, which warn of resizing where the CPU's do not.
void prefer_host_kernels() {
  auto& dispatcher = c10::Dispatcher::singleton();
  torch::Library& library = library_for(backend_key());
  for (const c10::OperatorName& name : dispatcher.getRegistrationsForDispatchKey(c10::DispatchKey::CPU)) {
    auto op = dispatcher.findSchema(name);
    bool own = op && op->hasKernelForDispatchKey(backend_key());
    bool composed = op && op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
    if (!op || own || composed || name.getNamespace() != "aten") continue;
    library.impl(c10::toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&fallback>());
  }
}

}  // namespace

void install_fallback() {
  library_for(backend_key(), "_").fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
  prefer_host_kernels();
}

}  // namespace software
