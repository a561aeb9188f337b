// Operators with kernels for CUDA only, by file.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace sdp {
struct sdp_params;
}

namespace software {

inline bool is_wide_unsigned(at::ScalarType type) {
  return type == at::kUInt16 || type == at::kUInt32 || type == at::kUInt64;
}
inline bool given(const std::optional<at::Tensor>& tensor) { return tensor && tensor->defined(); }

void install_nested();         // nested.cpp
void install_indexing();       // indexing.cpp

// Whether a kernel, an at::SDPBackend, takes these tensors on CUDA; debug warns why it does not. In attention.cpp.
bool attention_takes(int kernel, const sdp::sdp_params& given, bool debug);

// legacy_types.cpp: lets torch.cuda.FloatTensor and the like, given by address, create tensors and be the default type.
void allow_tensor_types(bool allowed, const std::vector<void*>& types);
void set_default_tensor_type(void* type);

}  // namespace software
