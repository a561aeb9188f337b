// Casts and memory formats that the vendor's device supports.
#include "device/device.h"
#include "operators/kernels.h"

#include <ATen/ops/_to_copy_native.h>
#include <ATen/ops/clone_native.h>

namespace software {
namespace {

using at::Tensor;
using std::optional;

bool known(optional<at::MemoryFormat> format) {
  bool plain = !format || *format == at::MemoryFormat::Contiguous || *format == at::MemoryFormat::Preserve;
  return plain || settings().channels_last;
}

bool narrows(const Tensor& self, optional<at::ScalarType> dtype, optional<c10::Device> target) {
  bool stays = self.device().type() == settings().type && (!target || target->type() == settings().type);
  return stays && !settings().float64 && dtype == at::kDouble && self.scalar_type() != at::kDouble;
}

Tensor to_copy(const Tensor& self, optional<at::ScalarType> dtype, optional<at::Layout> layout,
               optional<c10::Device> target, optional<bool> pin, bool non_blocking, optional<at::MemoryFormat> format) {
  TORCH_CHECK(known(format), "Only contiguous_format or preserve_format is supported.");
  if (narrows(self, dtype, target)) dtype = at::kFloat;  // torch converts every tensor to float64 to print it
  return at::native::_to_copy(self, dtype, layout, target, pin, non_blocking, format);
}

// The vendor's operator accepts every format, and uses contiguous for those that it lacks.
Tensor clone(const Tensor& self, optional<at::MemoryFormat> format) {
  return at::native::clone(self, known(format) ? format : at::MemoryFormat::Contiguous);
}

}  // namespace

void install_casts() {
  if (settings().channels_last && settings().float64) return;
  torch::Library& library = library_for(backend_key());
  library.impl("_to_copy", &to_copy);
  library.impl("clone", &clone);
}

}  // namespace software
