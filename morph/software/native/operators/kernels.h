// How the files of this folder register their kernels.
#pragma once

#include "device/device.h"

#include <torch/library.h>

namespace software {

// Of torch's operators for one dispatch key; never destroyed, as torch's dispatcher may be gone before.
inline torch::Library& library_for(c10::DispatchKey key, const char* names = "aten") {
  return *new torch::Library(torch::Library::IMPL, names, key, __FILE__, __LINE__);
}

template <auto kernel>
void boxed(torch::Library& library, c10::ArrayRef<const char*> names) {
  for (const char* name : names) library.impl(name, torch::CppFunction::makeFromBoxedFunction<kernel>());
}

// The kernels that only CUDA's device has.
using Kernels = void (*)(torch::Library&);
inline std::vector<Kernels>& cudas_kernels() {
  static std::vector<Kernels> all;
  return all;
}

}  // namespace software

// Before a block that registers some in `library`, once the device is known to be CUDA's.
#define KERNELS_OF_CUDA(name, library)                                                              \
  static void register_##name(torch::Library& library);                                             \
  static const bool has_##name = (cudas_kernels().push_back(&register_##name), true);               \
  static void register_##name(torch::Library& library)
