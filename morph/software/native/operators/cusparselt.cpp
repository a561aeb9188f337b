// Products with 2:4 sparse matrices as cuSPARSELt takes them: compressed to one tensor, whose layout is each library's
// own. Here the two values of each four, and then four bits for their places.
#include "operators/kernels.h"
#include "operators/operators.h"
#include "operators/unboxed.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_int_mm.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

namespace software {
namespace {

using at::ScalarType;
using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

// Of 16 values as many are left, with their places.
int64_t left_of_sixteen(ScalarType type) {
  bool is_taken = type == at::kChar || type == at::kHalf || type == at::kBFloat16;
  TORCH_CHECK(is_taken, "Unsupported dtype for cuSPARSELt compressed matrix");
  return type == at::kChar ? 10 : 9;
}

Tensor compress_to_one(const Tensor& matrix) {
  left_of_sixteen(matrix.scalar_type());
  TORCH_CHECK(matrix.dim() == 2 && matrix.size(1) % 16 == 0, "expected a matrix with columns by 16, but got ",
              matrix.sizes());
  Tensor fours = matrix.contiguous().view({-1, 4});
  Tensor order = at::argsort((fours != 0).to(at::kChar), /*stable=*/true, /*dim=*/1, /*descending=*/true);
  Tensor places = std::get<0>(order.narrow(1, 0, 2).sort(1));
  Tensor codes = (places.select(1, 0) + places.select(1, 1) * 4).to(at::kByte).view({-1, 2});
  Tensor packed = codes.select(1, 0) + codes.select(1, 1) * 16;
  Tensor values = fours.gather(1, places).view({-1});
  return at::cat({values, packed.view(matrix.scalar_type())});
}

Tensor decompress_one(const Tensor& compressed, int64_t columns) {
  int64_t count = compressed.numel() * 16 / left_of_sixteen(compressed.scalar_type()) / 2;
  Tensor values = compressed.narrow(0, 0, count).view({-1, 2});
  Tensor packed = compressed.narrow(0, count, compressed.numel() - count).view(at::kByte);
  Tensor codes = at::stack({packed.bitwise_and(15), packed.bitwise_right_shift(4)}, 1).view({-1}).to(at::kLong);
  Tensor places = at::stack({codes.bitwise_and(3), codes.bitwise_right_shift(2)}, 1);
  return at::zeros({values.size(0), 4}, values.options()).scatter_(1, places, values).view({-1, columns});
}

ScalarType type_of_product(const Tensor& dense, std::optional<ScalarType> wanted) {
  if (!wanted) return dense.scalar_type();
  TORCH_CHECK(dense.scalar_type() == at::kChar, "out_dtype support only available for int8/fp8 inputs");
  TORCH_CHECK(*wanted == at::kHalf || *wanted == at::kBFloat16 || *wanted == at::kInt,
              "Unsupported out_dtype passed, must be one of {fp16, bf16, int32} for int8 inputs");
  return *wanted;
}

// Rows are scaled and shifted in single precision, and rounded once. How the sum is split is a flag before torch 2.8.
template <class Split>
Tensor product_of_compressed(const Tensor& compressed, const Tensor& dense, const OptionalTensor& bias,
                          const OptionalTensor& alpha, std::optional<ScalarType> wanted, bool transposed, int64_t,
                          int64_t, Split) {
  TORCH_CHECK(compressed.scalar_type() == dense.scalar_type(), "expected a matrix of ", compressed.scalar_type(),
              ", but got ", dense.scalar_type());
  ScalarType type = type_of_product(dense, wanted);
  Tensor matrix = decompress_one(compressed, dense.size(0));
  bool is_whole = dense.scalar_type() == at::kChar;
  Tensor result = is_whole ? at::_int_mm(matrix, dense) : at::mm(matrix.to(at::kFloat), dense.to(at::kFloat));
  if (given(alpha)) result = result * alpha->to(at::kFloat).reshape({-1, 1});
  if (given(bias)) result = result + bias->to(at::kFloat).unsqueeze(1);
  if (at::isIntegralType(type, false) && result.is_floating_point()) result = result.round();
  if (type == at::kChar) result = result.clamp(-128, 127);
  return (transposed ? result.t() : result).to(type).contiguous();
}

int64_t best_algorithm(const Tensor&, const Tensor&, const OptionalTensor&, const OptionalTensor&,
                       std::optional<ScalarType>, bool) {
  return 0;
}

template <class Split>
void install_product(torch::Library& library) {
  library.impl("_cslt_sparse_mm", &OnHost<"aten::_cslt_sparse_mm", &product_of_compressed<Split>>::call);
}

bool splits_by_flag() {
  auto product = c10::Dispatcher::singleton().findSchemaOrThrow("aten::_cslt_sparse_mm", "");
  return product.schema().arguments().back().type()->kind() == c10::TypeKind::BoolType;
}

}  // namespace

KERNELS_OF_CUDA(cusparselt, library) {
  if (settings().title == "HIP") return;
  on_host<"aten::_cslt_compress", &compress_to_one>(library);
  splits_by_flag() ? install_product<bool>(library) : install_product<int64_t>(library);
  on_host<"aten::_cslt_sparse_mm_search", &best_algorithm>(library);
}

}  // namespace software
