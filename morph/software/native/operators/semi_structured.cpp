// Products with semi-structured matrices, as CUTLASS computes them for CUDA's capability 8.x: summed, scaled and
// activated in float32, or int32 for bytes, and rounded once. CUTLASS rounds float32 to TF32 before; not so here.
#include "operators/kernels.h"
#include "operators/semi_structured.h"

#include "operators/operators.h"
#include "operators/unboxed.h"

#include <ATen/ops/_int_mm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>

namespace software {
namespace {

using at::Scalar;
using at::ScalarType;
using at::Tensor;
using OptionalType = std::optional<ScalarType>;

void check_layout(const char* op, const char* name, const Tensor& matrix) {
  TORCH_CHECK(matrix.dim() == 2, op, "Expected ", name, " argument to be 2D tensor, got ", matrix.dim(), " dims");
  TORCH_CHECK(matrix.stride(0) == 1 || matrix.stride(1) == 1, op, "Invalid strides for ", name,
              " argument: row stride = ", matrix.stride(0), ", column stride = ", matrix.stride(1));
}

void check_vector(const char* op, const char* name, const std::optional<Tensor>& vector, const Tensor& values) {
  if (!given(vector)) return;
  TORCH_CHECK(vector->dim() == 1, op, "Expected ", name, " argument to be 1D tensor, got ", vector->dim(), " dims");
  TORCH_CHECK(vector->size(0) == values.size(0), op, "Expected ", name, " argument to have ", values.size(0),
              " elements, but got ", vector->size(0));
}

bool is_multiplied(ScalarType type) {
  return type == at::kChar || type == at::kHalf || type == at::kBFloat16 || type == at::kFloat;
}

// CUTLASS multiplies bytes of rows by bytes of columns alone.
void check_majors(const char* op, const Tensor& values, const Tensor& dense) {
  auto major = [](const Tensor& matrix) { return matrix.stride(1) == 1 ? "row-major" : "column_major"; };
  bool refused = values.scalar_type() == at::kChar && (values.stride(1) != 1 || dense.stride(1) == 1);
  TORCH_CHECK(!refused, op, "Combination of ", major(values), " and ", major(dense),
              " layouts for input tensors is not supported");
}

Tensor summed_products(const Tensor& values, const Tensor& metadata, const Tensor& dense) {
  Tensor matrix = decompressed(values, metadata);
  if (dense.scalar_type() == at::kChar) return at::_int_mm(matrix, dense);
  return at::mm(matrix.to(at::kFloat), dense.to(at::kFloat));
}

Tensor rounded_sums(const Tensor& sums, ScalarType type) {
  return (type == at::kChar ? sums.clamp(-128, 127) : sums).to(type);
}

Scalar factor_of(const Scalar& given, const Tensor& sums) {
  return sums.scalar_type() == at::kInt ? Scalar(given.to<int>()) : given;
}

constexpr char MAD[] = "sparse_semi_structured_mad_op : ";

ScalarType result_type(const Tensor& dense, OptionalType wanted) {
  ScalarType type = wanted.value_or(dense.scalar_type());
  bool widened = dense.scalar_type() == at::kChar && type == at::kInt;
  TORCH_CHECK(type == dense.scalar_type() || widened, MAD, "out_dtype is only supported for int8 input and int32 output");
  return type;
}

void check_operands(const Tensor& values, const Tensor& dense, const std::optional<Tensor>& input, ScalarType type) {
  TORCH_CHECK(is_multiplied(dense.scalar_type()), MAD, "The mat2 datatype ", dense.dtype(), " is not supported");
  TORCH_CHECK(values.dtype() == dense.dtype(), MAD, "Expected mat1 datatype ", dense.dtype(), ", but got ",
              values.dtype());
  TORCH_CHECK(!given(input) || input->scalar_type() == type, MAD, "Expected input datatype ", type, ", but got ",
              given(input) ? input->scalar_type() : type);
  check_layout(MAD, "mat1", values), check_layout(MAD, "mat2", dense);
  TORCH_CHECK(values.size(1) == dense.size(0) / 2, MAD, "Expected mat1 argument to have ", dense.size(0) / 2,
              " columns, but got ", values.size(1));
  check_vector(MAD, "input", input, values);
  check_majors("spgemm_cutlass_dispatch_layouts_dispatch_layouts: ", values, dense);
}

Tensor semi_structured_addmm(const std::optional<Tensor>& input, const Tensor& values, const Tensor& metadata,
                             const Tensor& dense, const Scalar& alpha, const Scalar& beta, OptionalType wanted) {
  ScalarType type = result_type(dense, wanted);
  check_operands(values, dense, input, type);
  Tensor result = summed_products(values, metadata, dense);
  result.mul_(factor_of(alpha, result));
  if (given(input)) result.add_(input->to(result.scalar_type()).unsqueeze(1), factor_of(beta, result));
  return rounded_sums(result, type);
}

Tensor semi_structured_addmm_(const Tensor& input, const Tensor& values, const Tensor& metadata, const Tensor& dense,
                              const Scalar& alpha, const Scalar& beta, OptionalType wanted) {
  return semi_structured_addmm(input, values, metadata, dense, alpha, beta, wanted);
}

Tensor semi_structured_mm(const Tensor& values, const Tensor& metadata, const Tensor& dense, OptionalType wanted) {
  return semi_structured_addmm(std::nullopt, values, metadata, dense, 1, 0, wanted);
}

constexpr char LINEAR[] = "_sparse_semi_structured_linear: ";

void check_linear(const Tensor& values, const Tensor& dense, const std::optional<Tensor>& bias, OptionalType wanted) {
  TORCH_CHECK(!wanted || (values.scalar_type() == at::kChar && *wanted == at::kInt), LINEAR,
              "Setting out_dtype is only supported for int8 input and int32 output");
  TORCH_CHECK(is_multiplied(values.scalar_type()), LINEAR, "The weight datatype ", values.dtype(), " is not supported");
  TORCH_CHECK(dense.dtype() == values.dtype(), LINEAR, "Expected input datatype ", values.dtype(), ", but got ",
              dense.dtype());
  check_layout(LINEAR, "weight", values), check_layout(LINEAR, "input", dense);
  TORCH_CHECK(values.size(1) == dense.size(0) / 2, LINEAR, "Expected weight argument to have ", dense.size(0) / 2,
              " columns, but got ", values.size(1));
  check_vector(LINEAR, "bias", bias, values);
}

Tensor activated(Tensor sums, std::string_view activation) {
  if (activation == "relu") return sums.relu_();
  bool is_silu = activation == "silu" && sums.scalar_type() == at::kFloat;
  TORCH_CHECK(is_silu || activation == "none", "two_four_sgemm_dispatch_layouts: Activation \"", activation,
              "\" is not supported for given input tensors");
  return is_silu ? at::silu_(sums) : sums;
}

Tensor semi_structured_linear(const Tensor& input, const Tensor& values, const Tensor& metadata,
                              const std::optional<Tensor>& bias, std::optional<std::string_view> activation,
                              OptionalType wanted) {
  TORCH_WARN_ONCE(LINEAR, "deprecated, to be removed from PyTorch: use _sparse_semi_structured_mm or ",
                  "_sparse_semi_structured_addmm");
  Tensor dense = input.reshape({-1, input.size(-1)}).t();
  check_linear(values, dense, bias, wanted);
  check_majors("two_four_sgemm_dispatch_layouts: ", values, dense);
  ScalarType type = wanted.value_or(input.scalar_type());
  TORCH_CHECK(!given(bias) || bias->scalar_type() == type, "two_four_sgemm: Expected sparse GEMM bias datatype ", type,
              ", but got ", given(bias) ? bias->scalar_type() : type);
  Tensor result = summed_products(values, metadata, dense);
  if (given(bias)) result.add_(bias->to(result.scalar_type()).unsqueeze(1));
  std::vector<int64_t> sizes = input.sizes().vec();
  sizes.back() = values.size(0);
  return rounded_sums(activated(result, activation.value_or("none")), type).t().reshape(sizes);
}

std::tuple<Tensor, Tensor> to_semi_structured(const Tensor& dense) {
  constexpr char op[] = "_to_sparse_semi_structured: ";
  ScalarType type = dense.scalar_type();
  TORCH_CHECK(dense.dim() == 2, op, "Expected dense argument to be 2D tensor, got ", dense.dim(), " dims");
  TORCH_CHECK(is_multiplied(type), op, "Invalid dense argument datatype ", dense.dtype(), " encountered");
  int64_t rows = type == at::kChar ? 16 : 32, columns = 32 / dense.element_size(), group = type == at::kFloat ? 2 : 4;
  TORCH_CHECK(dense.size(0) % rows == 0, op, "Number of rows of dense matrix must be divisible by ", rows,
              ", but it is ", dense.size(0));
  TORCH_CHECK(dense.size(1) % columns == 0, op, "Number of columns of dense matrix must be divisible by ", columns,
              ", but it is ", dense.size(1));
  Tensor kept = dense != 0;
  bool is_sparse = kept.view({-1, group}).sum(1).eq(group / 2).all().item<bool>();
  TORCH_CHECK(is_sparse, op, "dense argument does not match ", group == 2 ? "1:2" : "2:4", "sparsity pattern");
  SemiStructured made = compressed(dense, kept);
  return {made.values, made.metadata};
}

}  // namespace

KERNELS_OF_CUDA(semi_structured, library) {
  if (settings().title == "HIP") return;
  on_host<"aten::_sparse_semi_structured_mm", &semi_structured_mm>(library);
  on_host<"aten::_sparse_semi_structured_addmm", &semi_structured_addmm_>(library);
  on_host<"aten::_sparse_semi_structured_linear", &semi_structured_linear>(library);
  on_host<"aten::_to_sparse_semi_structured", &to_semi_structured>(library);
}

}  // namespace software
