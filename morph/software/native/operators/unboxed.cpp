// See unboxed.h.
#include "operators/unboxed.h"

namespace software {

using at::Tensor;
using std::optional;

void consider(Call& call, const optional<Tensor>& tensor) {
  if (tensor) call.consider(*tensor);
}

void consider(Call& call, at::TensorList tensors) {
  call.consider_list(tensors.data());
  for (const Tensor& tensor : tensors) call.consider(tensor);
}

void consider(Call& call, const at::ITensorListRef& tensors) {
  for (const Tensor& tensor : tensors) call.consider(tensor);
}

void consider(Call& call, const OptionalTensors& tensors) {
  for (const optional<Tensor>& tensor : tensors) consider(call, tensor);
}

optional<Tensor> to_host(Call& call, const optional<Tensor>& tensor) {
  return tensor ? optional<Tensor>(call.to_host(*tensor)) : std::nullopt;
}

HostViews to_host(Call& call, at::TensorList tensors) {
  HostViews all;
  all.reserve(tensors.size());
  bool written = call.is_written(tensors.data());
  for (const Tensor& tensor : tensors) all.push_back(call.element_to_host(tensor, written));
  return all;
}

HostViews to_host(Call& call, const at::ITensorListRef& tensors) {
  HostViews all;
  all.reserve(tensors.size());
  for (const Tensor& tensor : tensors) all.push_back(call.element_to_host(tensor));
  return all;
}

OptionalTensors to_host(Call& call, const OptionalTensors& tensors) {
  OptionalTensors all;
  all.reserve(tensors.size());
  for (const optional<Tensor>& tensor : tensors)
    all.push_back(tensor ? optional<Tensor>(call.element_to_host(*tensor)) : std::nullopt);
  return all;
}

optional<c10::Device> to_host(Call&, const optional<c10::Device>& device) {
  return device ? optional<c10::Device>(c10::kCPU) : std::nullopt;
}

optional<at::Generator> to_host(Call& call, const optional<at::Generator>& generator) {
  return seeded_generator(generator, call.device());
}

void install_kernel(const char* name, const char* overload, c10::KernelFunction kernel, c10::impl::CppSignature signature) {
  auto& dispatcher = c10::Dispatcher::singleton();
  if (!is_displaced() && dispatcher.findSchemaOrThrow(name, overload).hasKernelForDispatchKey(backend_key())) return;
  // never destroyed: at the end of the process torch's dispatcher may be gone already
  new c10::RegistrationHandleRAII(
      dispatcher.registerImpl({name, overload}, backend_key(), std::move(kernel), signature, nullptr, __FILE__));
}

}  // namespace software
