// Tensors that are zero without having memory, which automatic differentiation makes.
#include "operators/kernels.h"
#include "operators/operators.h"

#include <ATen/EmptyTensor.h>
#include <ATen/native/TensorFactories.h>

namespace software {
namespace {

using std::optional;

at::Tensor without_memory(at::IntArrayRef size, optional<at::ScalarType> dtype, optional<at::Layout>,
                          optional<c10::Device> wanted, optional<bool>) {
  c10::Device place = device(checked(wanted ? wanted->index() : c10::DeviceIndex(-1)));
  at::native::ZeroTensorAllocator nothing(place);
  auto keys = c10::DispatchKeySet(backend_key()) | c10::DispatchKeySet(c10::DispatchKey::ZeroTensor);
  auto type = dtype ? *dtype : c10::typeMetaToScalarType(c10::get_default_dtype());
  return at::detail::empty_generic(size, &nothing, keys, type, std::nullopt);
}

}  // namespace

KERNELS_OF_CUDA(zeros, library) {
  library.impl("_efficientzerotensor", &without_memory);
}

}  // namespace software
