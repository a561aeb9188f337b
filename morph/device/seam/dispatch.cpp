// Redirects CUDA's dispatch keys to the target, and makes Tensor.to take CUDA as another name of the target.
#include "seam.h"

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_ops.h>
#include <ATen/ops/empty_strided_ops.h>
#include <ATen/ops/to_native.h>
#include <ATen/ops/to_ops.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <list>

namespace seam {
namespace {

using at::Tensor;
using c10::Device;
using c10::DispatchKey;
using torch::jit::Stack;
template <class T>
using Maybe = std::optional<T>;

// Never destroyed: at exit other threads may still dispatch.
std::list<torch::Library>& dispatch_libraries = *new std::list<torch::Library>;

const c10::OperatorHandle& handle(const char* name, const char* overload) {
  auto found = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  return *new c10::OperatorHandle(found);
}

bool translate_devices(const c10::OperatorHandle& op, Stack& stack) {
  bool translated = false;
  for (auto argument = stack.end() - op.schema().arguments().size(); argument != stack.end(); ++argument) {
    if (!argument->isDevice() || argument->toDevice().type() != c10::DeviceType::CUDA) continue;
    *argument = translate(argument->toDevice());
    translated = true;
  }
  return translated;
}

void dispatch_again(const c10::OperatorHandle& op, Stack* stack) {
  count(op);
  initialize_target();
  TORCH_CHECK_NOT_IMPLEMENTED(translate_devices(op, *stack), "Could not run '", op.operator_name(),
                              "' with arguments from the 'CUDA' backend: no argument names a CUDA device.");
  op.callBoxed(*stack);
}

c10::DispatchKeySet target_keys() { return c10::DispatchKeySet(c10::computeDispatchKey({}, {}, Device(target()))); }

Tensor empty(c10::SymIntArrayRef size, Maybe<at::ScalarType> dtype, Maybe<at::Layout> layout, Maybe<Device> device,
             Maybe<bool> pin_memory, Maybe<at::MemoryFormat> memory_format) {
  static const auto& op = handle("aten::empty", "memory_format");
  count(op);
  initialize_target();
  if (device) device = translate(*device);
  return at::_ops::empty_memory_format::redispatch(target_keys(), size, dtype, layout, device, pin_memory,
                                                   memory_format);
}

Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride, Maybe<at::ScalarType> dtype,
                     Maybe<at::Layout> layout, Maybe<Device> device, Maybe<bool> pin_memory) {
  static const auto& op = handle("aten::empty_strided", "");
  count(op);
  initialize_target();
  if (device) device = translate(*device);
  return at::_ops::empty_strided::redispatch(target_keys(), size, stride, dtype, layout, device, pin_memory);
}

// torch makes a CUDA tensor of what has a __cuda_array_interface__. The memory is the target's: so is this view of it.
// The storage is of the vendor's own kind, without which its operators refuse a tensor.
Tensor adopted(const Tensor& made) {
  if (!made.key_set().has(DispatchKey::CUDA) || !made.has_storage()) return made;
  initialize_target();
  void* start = made.storage().mutable_data();
  Device device = start ? at::globalContext().getAcceleratorHooksInterface(target()).getDeviceFromPtr(start)
                        : translate(made.device());
  c10::DataPtr memory(start, new Tensor(made),
                      [](void* kept) { delete static_cast<Tensor*>(kept); }, device);
  auto storage = c10::make_storage_impl(c10::StorageImpl::use_byte_size_t(), made.storage().sym_nbytes(),
                                        std::move(memory), c10::GetAllocator(device.type()), false, device);
  Tensor view = at::empty({0}, made.options().device(device));
  return view.set_(c10::Storage(storage), made.storage_offset(), made.sizes(), made.strides());
}

// One count for both overloads: they are one method.
Device destination(Device device) {
  static const auto& op = handle("aten::to", "dtype_layout");
  if (!device.is_cuda()) return device;
  count(op);
  return translate(device);
}

Tensor to_dtype_layout(const Tensor& self, Maybe<at::ScalarType> dtype, Maybe<at::Layout> layout, Maybe<Device> device,
                       Maybe<bool> pin_memory, bool non_blocking, bool copy, Maybe<at::MemoryFormat> memory_format) {
  if (!device) return at::native::to(adopted(self), dtype, layout, device, pin_memory, non_blocking, copy, memory_format);
  return at::native::to(adopted(self), dtype, layout, destination(*device), pin_memory, non_blocking, copy, memory_format);
}

Tensor to_device(const Tensor& self, Device device, at::ScalarType dtype, bool non_blocking, bool copy,
                 Maybe<at::MemoryFormat> memory_format) {
  return at::native::to(adopted(self), destination(device), dtype, non_blocking, copy, memory_format);
}

// torch warns when a kernel replaces another; here that is intended, and undone later.
torch::Library& library(const char* scope, DispatchKey key) {
  return dispatch_libraries.emplace_back(torch::Library::IMPL, scope, key, __FILE__, __LINE__);
}

bool takes_device(const c10::FunctionSchema& schema) {
  for (const auto& argument : schema.arguments())
    if (argument.type()->isSubtypeOf(*c10::OptionalType::create(c10::DeviceObjType::get()))) return true;
  return false;
}

// A torch built with CUDA has kernels of its own, which would be called instead of the fallback.
void replace_kernels(DispatchKey key) {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getRegistrationsForDispatchKey(key)) {
    auto op = dispatcher.findOp(name);
    if (!op || !op->hasSchema() || !takes_device(op->schema())) continue;
    auto scope = name.getNamespace();
    library(scope ? std::string(*scope).c_str() : "aten", key)
        .impl(c10::toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&dispatch_again>());
  }
}

}  // namespace

void engage_dispatch() {
  Quiet quiet;
  c10::WarningUtils::WarningHandlerGuard guard(&quiet);
  for (auto key : {DispatchKey::CUDA, DispatchKey::SparseCUDA, DispatchKey::SparseCsrCUDA, DispatchKey::QuantizedCUDA,
                   DispatchKey::NestedTensorCUDA}) {
    replace_kernels(key);
    library("_", key).fallback(torch::CppFunction::makeFromBoxedFunction<&dispatch_again>());
  }
  auto& factories = library("aten", DispatchKey::CUDA);
  factories.impl("empty.memory_format", TORCH_FN(empty));
  factories.impl("empty_strided", TORCH_FN(empty_strided));
  auto& moves = library("aten", DispatchKey::CompositeImplicitAutograd);
  moves.impl("to.dtype_layout", TORCH_FN(to_dtype_layout));
  moves.impl("to.device", TORCH_FN(to_device));
}

void disengage_dispatch() {
  while (!dispatch_libraries.empty()) dispatch_libraries.pop_back();
}

}  // namespace seam
