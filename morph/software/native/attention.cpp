// Attention of a device that torch knows: torch looks its kernels up in a table that only a build for the device has.
#include "device.h"

#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

namespace software {
namespace {

using at::Tensor;
using Mask = std::optional<Tensor>;

Mask added(const Mask& mask, const Tensor& query) {
  if (!mask || mask->scalar_type() != at::kBool) return mask;
  return at::zeros(mask->sizes(), query.options())
      .masked_fill_(mask->logical_not(), -std::numeric_limits<double>::infinity());
}

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask, double dropout,
                 bool causal, std::optional<double> scale, bool grouped) {
  return std::get<0>(at::_scaled_dot_product_attention_math(query, key, value, added(mask, query), dropout, causal,
                                                            std::nullopt, scale, grouped));
}

}  // namespace

void install_attention() {
  if (!known_to_torch()) return;
  bool xpu = settings().type == c10::DeviceType::XPU;
  auto autograd = xpu ? c10::DispatchKey::AutogradXPU : c10::DispatchKey::AutogradCUDA;
  for (auto key : {autograd, backend_key()}) {  // it is made of differentiable parts
    auto* library = new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
    library->impl("scaled_dot_product_attention", &attention);
  }
}

}  // namespace software
