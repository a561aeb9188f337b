// A product with weights of eight or four bits in the layout of CUTLASS' kernels for Ampere, which
// torch.quantization._quantized_conversions makes.
#include "memory/host_view.h"
#include "operators/kernels.h"
#include "operators/operators.h"
#include "operators/unboxed.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>

namespace software {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

// A column's weights in words of 32 bits. Words of two columns of bytes, or four of halves of bytes, take turns by 16 or 8.
struct Interleaved {
  int64_t rows, bits;

  int64_t weight(const uint32_t* words, int64_t row, int64_t column) const {
    int64_t byte = bits == 8 ? row : row / 2, place = byte / 16 * 16 + permuted(byte % 16);
    uint32_t word = words[placed(place / 4, column)];
    int64_t shift = bits == 8 ? place % 2 * 16 + place / 2 % 2 * 8 : row % 2 * 16 + place % 4 * 4;
    return int64_t(word >> shift & ((1 << bits) - 1)) - (1 << (bits - 1));
  }

 private:
  int64_t permuted(int64_t byte) const {
    return bits == 8 ? byte % 8 / 2 * 4 + byte / 8 * 2 + byte % 2 : byte % 4 * 4 + byte / 4;
  }
  int64_t placed(int64_t word, int64_t column) const {
    int64_t columns = 16 / bits, turn = 32 / columns, words = rows * bits / 32;
    return column / columns * columns * words + word / turn * 32 + column % columns * turn + word % turn;
  }
};

Tensor levels(const Tensor& weight, int64_t columns) {
  Interleaved layout{weight.size(0), weight.size(1) == columns ? 8 : 4};
  TORCH_CHECK(layout.rows % 64 == 0 && columns % 64 == 0, "_mixed_dtypes_linear: expected a weight by 64, but got ",
              layout.rows, " by ", columns);
  Tensor from = weight.contiguous(), made = at::empty({columns, layout.rows}, weight.options().dtype(at::kFloat));
  const auto* words = elements<uint32_t>(from);
  float* to = mutable_elements<float>(made);
  for (int64_t column = 0; column < columns; column++)
    for (int64_t row = 0; row < layout.rows; row++) *to++ = float(layout.weight(words, row, column));
  return made;
}

constexpr char MIXED[] = "_mixed_dtypes_linear: ";

void check_of_type(const char* name, const Tensor& vector, const Tensor& input) {
  TORCH_CHECK(vector.dtype() == input.dtype(), MIXED, "Expected ", name, " datatype ", input.dtype(), " but got",
              vector.dtype());
  TORCH_CHECK(vector.dim() == 1, MIXED, "Expected ", name, " argument to be 1D tensor, got ", vector.dim(), " dims");
}

void check_mixed(const Tensor& input, const Tensor& weight, const Tensor& scale, const OptionalTensor& bias) {
  TORCH_CHECK(input.scalar_type() == at::kHalf || input.scalar_type() == at::kBFloat16, MIXED, "The input datatype ",
              input.dtype(), " is not supported");
  TORCH_CHECK(weight.scalar_type() == at::kByte, MIXED, "The weight datatype ", weight.dtype(), " is not supported");
  check_of_type("scale", scale, input);
  TORCH_CHECK(weight.dim() == 2, MIXED, "Expected weight argument to be 2D tensor, got ", weight.dim(), " dims");
  TORCH_CHECK(input.size(-1) == weight.size(0), MIXED, "Expected input argument to have ", weight.size(0),
              " columns, but got ", input.size(-1));
  TORCH_CHECK(weight.size(1) == scale.size(0) || 2 * weight.size(1) == scale.size(0), MIXED,
              "Expected weight argument to have either ", scale.size(0), " or ", scale.size(0) / 2.f,
              " columns, but got ", weight.size(1));
  if (!given(bias)) return;
  check_of_type("bias", *bias, input);
  TORCH_CHECK(bias->size(0) == scale.size(0), MIXED, "Expected bias argument to have ", scale.size(0),
              " elements, but got ", bias->size(0));
}

// CUTLASS' kernels activate only what has a bias.
void activate(Tensor& sums, std::string_view activation, bool has_bias) {
  bool is_relu = activation == "relu" && has_bias, is_silu = activation == "silu" && has_bias;
  TORCH_CHECK(is_relu || is_silu || activation == "none",
              "mixed_dtypes_linear_dispatch_bias_activation: Activation \"", activation, "\" is not supported");
  if (is_relu) at::relu_(sums);
  if (is_silu) at::silu_(sums);
}

Tensor mixed_dtypes_linear(const Tensor& input, const Tensor& weight, const Tensor& scale, const OptionalTensor& bias,
                           std::optional<std::string_view> activation) {
  check_mixed(input, weight, scale, bias);
  Tensor scaled = levels(weight, scale.size(0)).to(input.scalar_type()).mul_(scale.unsqueeze(1));
  Tensor sums = at::mm(input.reshape({-1, input.size(-1)}).to(at::kFloat), scaled.to(at::kFloat).t());
  if (given(bias)) sums.add_(*bias);
  activate(sums, activation.value_or("none"), given(bias));
  std::vector<int64_t> sizes = input.sizes().vec();
  sizes.back() = scale.size(0);
  return sums.to(input.scalar_type()).reshape(sizes);
}

}  // namespace

KERNELS_OF_CUDA(mixed_dtypes, library) {
  if (settings().title == "HIP") return;
  on_host<"aten::_mixed_dtypes_linear", &mixed_dtypes_linear>(library);
}

}  // namespace software
