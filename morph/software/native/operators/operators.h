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
void install_quantized();      // quantized.cpp
void install_softmax();        // softmax.cpp
void install_indexing();       // indexing.cpp
void install_dtypes();         // dtypes.cpp
void install_checked_arguments();  // arguments.cpp
void install_transforms();     // transforms.cpp
void install_factorizations();  // factorization.cpp
void install_int4();           // int4.cpp
void install_mixed_dtypes();   // mixed_dtypes.cpp
void install_semi_structured();  // semi_structured.cpp
void install_cusparselt();     // cusparselt.cpp
void install_semi_structured_tiles();  // semi_structured_tiles.cpp
void install_zeros();          // zeros.cpp
void install_normalization();  // normalization.cpp
void install_cudnn();          // cudnn.cpp
void install_ctc();            // ctc.cpp
void install_products();       // products.cpp
void install_saved();          // saved.cpp
void install_batches();        // batches.cpp
void install_outputs();        // outputs.cpp
void install_arithmetic();     // arithmetic.cpp
void install_limits();         // limits.cpp
void install_fused_attention();  // fused_attention.cpp
void install_scaled_dot_product();  // scaled_dot_product.cpp
void install_packed_attention();  // packed_attention.cpp

// Whether a kernel, an at::SDPBackend, takes these tensors on CUDA; debug warns why it does not. In attention.cpp.
bool attention_takes(int kernel, const sdp::sdp_params& given, bool debug);

// legacy_types.cpp: lets torch.cuda.FloatTensor and the like, given by address, create tensors and be the default type.
void allow_tensor_types(bool allowed, const std::vector<void*>& types);
void set_default_tensor_type(void* type);

}  // namespace software
