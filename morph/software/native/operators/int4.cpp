// Weights of four bits in the layout of CUDA's tensor cores, which checkpoints hold (torchao's "tile packed" int4).
#include "memory/host_view.h"
#include "operators/kernels.h"
#include "operators/operators.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>

namespace software {
namespace {

using at::Tensor;

// [n / 8][k / (inner * 16)][32][inner / 2] numbers of 32 bits: each holds 8 weights, 4 of each of two tiles of 8 x 16,
// those that a lane of a warp has in an mma.m16n8k16.
struct Layout {
  int64_t n, k, inner;

  template <class Function>
  void each(Function function) const {
    int64_t at = 0;
    for (int64_t row = 0; row < n; row += 8)
      for (int64_t tile = 0; tile < k / (16 * inner); tile++)
        for (int64_t lane = 0; lane < 32; lane++)
          for (int64_t pair = 0; pair < inner / 2; pair++, at++)
            function(at, row + lane / 4, (tile * inner + 2 * pair) * 16 + lane % 4 * 2);
  }
};

constexpr int64_t COLUMN[] = {0, 8, 16, 24, 1, 9, 17, 25};  // of the weights, from the lowest bits

Tensor convert(const Tensor& weight, int64_t inner) {
  TORCH_CHECK(weight.dim() == 2 && weight.scalar_type() == at::kByte, "expected weight to be a matrix of uint8");
  Layout layout{weight.size(0), weight.size(1) * 2, inner};
  TORCH_CHECK(inner == 2 || inner == 4 || inner == 8, "innerKTiles need to be 2, 4, or 8");
  TORCH_CHECK(layout.n % 8 == 0 && layout.k % (16 * inner) == 0, "expected n to be divisible by 8 and k by ", 16 * inner);
  Tensor packed = at::empty({layout.n / 8, layout.k / (16 * inner), 32, inner / 2}, weight.options().dtype(at::kInt));
  Tensor from = weight.contiguous();
  const uint8_t* bytes = elements<uint8_t>(from);  // an even column in the high half
  auto* numbers = mutable_elements<uint32_t>(packed);
  layout.each([&](int64_t at, int64_t row, int64_t column) {
    uint32_t number = 0;
    for (int i = 0; i < 8; i++) {
      int64_t place = row * layout.k + column + COLUMN[i];
      number |= uint32_t(bytes[place / 2] >> (place % 2 ? 0 : 4) & 15) << (4 * i);
    }
    numbers[at] = number;
  });
  return packed;
}

// As CUDA's kernel: each weight is (q - 8) * scale + zero in bfloat16, and the sums are float32's.
Tensor product(const Tensor& self, const Tensor& packed, int64_t group, const Tensor& scales_and_zeros) {
  TORCH_CHECK(self.dim() == 2 && self.scalar_type() == at::kBFloat16, "expected the first matrix to be of bfloat16");
  TORCH_CHECK(packed.dim() == 4 && packed.scalar_type() == at::kInt && packed.is_contiguous(),
              "expected the second matrix to be packed");
  Layout layout{packed.size(0) * 8, packed.size(1) * 16 * 2 * packed.size(3), 2 * packed.size(3)};
  TORCH_CHECK(self.size(1) == layout.k, "expected matrices of the same k, got ", self.size(1), " and ", layout.k);
  TORCH_CHECK(group == 32 || group == 64 || group == 128 || group == 256, "expected a group of 32, 64, 128 or 256");
  TORCH_CHECK(scales_and_zeros.dim() == 3 && scales_and_zeros.scalar_type() == at::kBFloat16 &&
                  scales_and_zeros.size(0) == layout.k / group && scales_and_zeros.size(1) == layout.n &&
                  scales_and_zeros.size(2) == 2,
              "expected scales and zeros of bfloat16 for each group and row");
  Tensor weight = at::empty({layout.n, layout.k}, self.options()), affine = scales_and_zeros.contiguous();
  const auto* numbers = elements<uint32_t>(packed);
  const auto* scale = elements<at::BFloat16>(affine);
  auto* weights = mutable_elements<at::BFloat16>(weight);
  layout.each([&](int64_t at, int64_t row, int64_t column) {
    for (int i = 0; i < 8; i++) {
      int64_t place = column + COLUMN[i], own = (place / group * layout.n + row) * 2;
      float level = float(numbers[at] >> (4 * i) & 15) - 8;
      weights[row * layout.k + place] = level * float(scale[own]) + float(scale[own + 1]);
    }
  });
  return at::linear(self, weight);
}

}  // namespace

KERNELS_OF_CUDA(int4, library) {
  library.impl("_convert_weight_to_int4pack", &convert);
  library.impl("_weight_int4pack_mm", &product);
}

}  // namespace software
