// Matrix products whose result is wider than their arguments, for which CUDA alone has kernels.
#include "device.h"
#include "operators.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/mm.h>
#include <torch/library.h>

namespace software {
namespace {

using at::Scalar;
using at::ScalarType;
using at::Tensor;

void check(const Tensor& argument, ScalarType result) {
  auto given = argument.scalar_type();
  bool widened = result == at::kFloat && (given == at::kHalf || given == at::kBFloat16);
  TORCH_CHECK(result == given || widened,
              "out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs");
}

Tensor mm(const Tensor& self, const Tensor& other, ScalarType dtype) {
  check(self, dtype);
  return at::mm(self.to(dtype), other.to(dtype));
}

Tensor bmm(const Tensor& self, const Tensor& other, ScalarType dtype) {
  check(self, dtype);
  return at::bmm(self.to(dtype), other.to(dtype));
}

Tensor addmm(const Tensor& self, const Tensor& first, const Tensor& second, ScalarType dtype, const Scalar& beta,
             const Scalar& alpha) {
  check(first, dtype);
  return at::addmm(self.to(dtype), first.to(dtype), second.to(dtype), beta, alpha);
}

Tensor baddbmm(const Tensor& self, const Tensor& first, const Tensor& second, ScalarType dtype, const Scalar& beta,
               const Scalar& alpha) {
  check(first, dtype);
  return at::baddbmm(self.to(dtype), first.to(dtype), second.to(dtype), beta, alpha);
}

}  // namespace

void install_products() {
  if (settings().type != c10::DeviceType::CUDA) return;
  static torch::Library library(torch::Library::IMPL, "aten", backend_key(), __FILE__, __LINE__);
  library.impl("mm.dtype", &mm);
  library.impl("bmm.dtype", &bmm);
  library.impl("addmm.dtype", &addmm);
  library.impl("baddbmm.dtype", &baddbmm);
}

}  // namespace software
