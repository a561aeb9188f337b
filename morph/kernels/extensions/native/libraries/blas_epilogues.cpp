// What cuBLASLt does to a product (cuBLAS documentation, cublasLtEpilogue_t).
#include "blas_lt.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/pow.h>

namespace morph_cuda::blas {
namespace {

constexpr int kRelu = 2, kBias = 4, kReluBackward = 8, kBiasBackward = 16, kGelu = 32, kGeluBackward = 64, kAux = 128;
constexpr int kBackward = kReluBackward | kGeluBackward, kBits = kRelu | kReluBackward;
constexpr int64_t kBitsAlign = 128;

c10::ScalarType type_of(int32_t named, const at::Tensor& d) {
  return named == -1 ? d.scalar_type() : torchs(cudaDataType(named));
}

// What is kept of the forward product: numbers as D has them, or of ReLU a bit for each.
at::Tensor kept(const morph_cublasLtDesc& desc, const at::Tensor& d, bool is_written) {
  TORCH_CHECK(desc.aux, "cublasLtMatmul: CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER is not set");
  bool of_bits = desc.epilogue & kBits;
  int64_t rows = d.size(-2), columns = d.size(-1), batch = d.dim() == 3 ? d.size(0) : 1, unit = of_bits ? 8 : 1;
  TORCH_CHECK(desc.aux_leading >= rows && (!of_bits || desc.aux_leading % kBitsAlign == 0),
              "cublasLtMatmul: CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD is ", desc.aux_leading, " of ", rows, " rows");
  auto type = of_bits ? c10::kByte : type_of(desc.aux_type, d);
  at::Tensor all = memory(desc.aux, type, {batch, columns, (rows + unit - 1) / unit},
                          {desc.aux_stride / unit, desc.aux_leading / unit, 1}, is_written);
  return (d.dim() == 3 ? all : all.squeeze(0)).transpose(-2, -1);
}

at::Tensor powers_of_two() { return at::pow(2, at::arange(8, at::kLong)).to(at::kByte); }

void keep_bits(at::Tensor into, const at::Tensor& positive) {
  at::Tensor whole = at::constant_pad_nd(positive.to(at::kByte), {0, 0, 0, into.size(-2) * 8 - positive.size(-2)});
  at::Tensor parts = whole.transpose(-2, -1).unflatten(-1, {into.size(-2), 8});
  into.copy_(parts.mul(powers_of_two()).sum(-1).to(at::kByte).transpose(-2, -1));
}
at::Tensor bits(const at::Tensor& from, int64_t rows) {
  at::Tensor parts = from.transpose(-2, -1).unsqueeze(-1).bitwise_and(powers_of_two()).ne(0);
  return parts.flatten(-2).narrow(-1, 0, rows).transpose(-2, -1);
}

// The bias of D's rows: of a batch, one for each.
at::Tensor bias_of(const morph_cublasLtDesc& desc, const at::Tensor& d, int64_t size, bool is_written) {
  TORCH_CHECK(desc.bias, "cublasLtMatmul: CUBLASLT_MATMUL_DESC_BIAS_POINTER is not set");
  int64_t batch = d.dim() == 3 && desc.bias_stride ? d.size(0) : 1;
  at::Tensor all = memory(desc.bias, type_of(desc.bias_type, d), {batch, size}, {desc.bias_stride, 1}, is_written);
  return batch == 1 ? all.squeeze(0) : all;
}
void keep_bias(const morph_cublasLtDesc& desc, const at::Tensor& d, const at::Tensor& sum) {
  at::Tensor into = bias_of(desc, d, sum.size(-1), true);
  TORCH_CHECK(sum.dim() == into.dim(), "cublasLtMatmul: a bias of a batch needs CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE");
  into.copy_(sum);
}

at::Tensor backward(const morph_cublasLtDesc& desc, at::Tensor sum, const at::Tensor& d) {
  at::Tensor before = kept(desc, d, false);
  sum = desc.epilogue & kReluBackward ? sum.mul(bits(before, sum.size(-2)))
                                      : at::gelu_backward(sum, before.to(sum.scalar_type()), "tanh");
  if (desc.epilogue & kBiasBackward) keep_bias(desc, d, sum.sum(-1));
  return sum;
}

at::Tensor after(const morph_cublasLtDesc& desc, at::Tensor sum, const at::Tensor& d) {
  int epilogue = desc.epilogue;
  if (epilogue & kBackward) return backward(desc, sum, d);
  if (epilogue & kBias) sum = sum.add(bias_of(desc, d, sum.size(-2), false).to(sum.scalar_type()).unsqueeze(-1));
  if (epilogue & kAux) epilogue & kRelu ? keep_bits(kept(desc, d, true), sum.gt(0)) : void(kept(desc, d, true).copy_(sum));
  if (epilogue & kRelu) sum = sum.relu();
  return epilogue & kGelu ? at::gelu(sum, "tanh") : sum;
}

}  // namespace

bool is_known(cublasLtEpilogue_t epilogue) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT: case CUBLASLT_EPILOGUE_RELU_AUX: case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DRELU: case CUBLASLT_EPILOGUE_DRELU_BGRAD: case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS: case CUBLASLT_EPILOGUE_DGELU: case CUBLASLT_EPILOGUE_DGELU_BGRAD:
    case CUBLASLT_EPILOGUE_BGRADA: case CUBLASLT_EPILOGUE_BGRADB: return true;
    default: return (epilogue & ~(kRelu | kBias | kGelu)) == 0;
  }
}

at::Tensor finished(const morph_cublasLtDesc& desc, const at::Tensor& left, const at::Tensor& right, const at::Tensor& sum,
                    const at::Tensor& d) {
  if (desc.epilogue == CUBLASLT_EPILOGUE_BGRADA) return keep_bias(desc, d, left.sum(-1)), sum;
  if (desc.epilogue == CUBLASLT_EPILOGUE_BGRADB) return keep_bias(desc, d, right.sum(-2)), sum;
  return after(desc, sum, d);
}

}  // namespace morph_cuda::blas
