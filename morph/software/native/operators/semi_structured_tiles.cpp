// Tiles of four by four of which two values in each row and each column are kept, so that the matrix and its transpose
// are semi-structured. For training: which values are kept is chosen anew in each step.
#include "memory/host_view.h"
#include "operators/kernels.h"
#include "operators/semi_structured.h"

#include "operators/parameters.h"
#include "operators/unboxed.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/masked_fill.h>

#include <limits>

namespace software {
namespace {

using at::Tensor;

struct Ranked {
  float rank;
  int row, column;
};

// A sorting network of Bose and Nelson: which of equal values are kept depends on it.
class SortingNetwork {
 public:
  explicit SortingNetwork(int size) { split(0, size); }
  void sort(Ranked* values) const {
    for (auto [low, high] : pairs_)
      if (!(values[low].rank < values[high].rank)) std::swap(values[low], values[high]);
  }

 private:
  void split(int start, int size) {
    if (size < 2) return;
    int half = size / 2;
    split(start, half), split(start + half, size - half);
    merge(start, half, start + half, size - half);
  }
  void merge(int one, int size, int other, int other_size) {
    if (size == 1 && other_size == 1) return compare(one, other);
    if (size == 1 && other_size == 2) return compare(one, other + 1), compare(one, other);
    if (size == 2 && other_size == 1) return compare(one, other), compare(one + 1, other);
    int half = size / 2, other_half = size % 2 ? other_size / 2 : (other_size + 1) / 2;
    merge(one, half, other, other_half);
    merge(one + half, size - half, other + other_half, other_size - other_half);
    merge(one + half, size - half, other, other_half);
  }
  void compare(int low, int high) { pairs_.emplace_back(low, high); }

  std::vector<std::pair<int, int>> pairs_;
};

class KeptInTile {
 public:
  void offer(const Ranked& value, int most_of_row) {
    if (rows_[value.row] == most_of_row || columns_[value.column] == 2) return;
    rows_[value.row]++, columns_[value.column]++;
    bits_ |= 1 << (value.row * 4 + value.column);
  }
  uint16_t bits() const { return bits_; }

 private:
  int rows_[4] = {}, columns_[4] = {}, bits_ = 0;
};

// The largest of all first.
uint16_t chosen_greedily(const float* ranks, int64_t stride) {
  static const SortingNetwork network(16);
  Ranked values[16];
  for (int i = 0; i < 16; i++) values[i] = {ranks[i / 4 * stride + i % 4], i / 4, i % 4};
  network.sort(values);
  KeptInTile kept;
  for (int i = 16; i-- > 0;) kept.offer(values[i], 2);
  return kept.bits();
}

// Row by row, so that none depends on the rows below it.
uint16_t chosen_causally(const float* ranks, int64_t stride) {
  static const SortingNetwork network(4);
  KeptInTile kept;
  for (int row = 0; row < 4; row++) {
    Ranked values[4];
    for (int i = 0; i < 4; i++) values[i] = {ranks[row * stride + i], row, i};
    network.sort(values);
    for (int i = 4; i-- > 0;) kept.offer(values[i], row < 2 ? 1 : 2);
  }
  return kept.bits();
}

struct TileAlgorithm {
  uint16_t (*choose)(const float* ranks, int64_t stride);
  bool by_size;
};

TileAlgorithm tile_algorithm(std::string_view name) {
  if (name == "causal1122") return {&chosen_causally, false};
  bool by_size = name == "largest_abs_values_greedy";
  TORCH_CHECK(by_size || name.empty() || name == "largest_values_greedy", "Unknown algorithm \"", name, "\"");
  return {&chosen_greedily, by_size};
}

int64_t up_to(int64_t unit, int64_t size) { return (size + unit - 1) / unit * unit; }
int64_t whole_rows(const Tensor& matrix) { return up_to(32, matrix.size(0)); }  // CUDA's warps have 32 x 64 values
int64_t whole_columns(const Tensor& matrix) { return up_to(64, matrix.size(1)); }

Tensor sized(const Tensor& matrix, int64_t rows, int64_t columns, const at::Scalar& fill = 0) {
  return at::constant_pad_nd(matrix, {0, columns - matrix.size(1), 0, rows - matrix.size(0)}, fill).contiguous();
}

// CUDA's kernel reads what lies in memory beyond the columns.
Tensor filled_beyond(const Tensor& input) {
  constexpr double fill = -std::numeric_limits<double>::infinity();
  return sized(sized(input, whole_rows(input), input.size(1), fill), whole_rows(input), whole_columns(input));
}

// Eight bytes of a mask are the bits of four tiles, two beside two.
template <class Bits, class Function>
void for_each_tile(const Tensor& masks, Bits* bits, Function function) {
  for (int64_t row = 0; row < masks.size(0) * 8; row += 8)
    for (int64_t column = 0; column < masks.size(1) * 8; column += 8)
      for (int64_t part = 0; part < 4; part++) function(row + part / 2 * 4, column + part % 2 * 4, *bits++);
}

Tensor kept_by(const Tensor& masks) {
  int64_t columns = masks.size(1) * 8;
  Tensor kept = at::empty({masks.size(0) * 8, columns}, masks.options().dtype(at::kBool));
  bool* to = mutable_elements<bool>(kept);
  const auto* from = elements<uint16_t>(masks);
  for_each_tile(masks, from, [&](int64_t row, int64_t column, uint16_t bits) {
    for (int64_t i = 0; i < 16; i++) to[(row + i / 4) * columns + column + i % 4] = bits >> i & 1;
  });
  return kept;
}

Tensor masks_of(const Tensor& matrix, TileAlgorithm algorithm) {
  int64_t columns = matrix.size(1);
  Tensor masks = at::empty({matrix.size(0) / 8, columns / 8, 8}, matrix.options().dtype(at::kByte));
  Tensor ranks = matrix.to(at::kFloat);
  if (algorithm.by_size) ranks.abs_();
  const float* from = elements<float>(ranks);
  auto* to = mutable_elements<uint16_t>(masks);
  for_each_tile(masks, to, [&](int64_t row, int64_t column, uint16_t& bits) {
    bits = algorithm.choose(from + row * columns + column, columns);
  });
  return masks;
}

// CUTLASS' order by its strides.
Tensor as_squares(const Tensor& metadata) {
  return metadata.view({metadata.size(1) / 2, metadata.size(0), 2}).permute({1, 2, 0});
}

using Sparsified = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;

Sparsified semi_structured_tile(const Tensor& input, std::string_view algorithm, bool use_cutlass) {
  TORCH_CHECK(is_reduced(input), input.scalar_type());
  TORCH_CHECK(input.dim() == 2, "Can only sparsify 2d tensors");
  TORCH_CHECK(input.stride(1) == 1, "Can only sparsify contiguous tensors. Sparsify the transpose otherwise.");
  TORCH_CHECK(input.size(1) % 32 == 0, "Number of cols should be multiple of 32");
  TORCH_CHECK_NOT_IMPLEMENTED(use_cutlass, "_sparse_semi_structured_tile: cuSPARSELt's layout has no kernel for this device");
  Tensor matrix = filled_beyond(input);
  Tensor masks = masks_of(matrix, tile_algorithm(algorithm)), kept = kept_by(masks);
  int64_t rows = whole_rows(input.t()), columns = whole_columns(input.t());  // other than those of CUDA's `apply`
  SemiStructured own = compressed(matrix, kept);
  SemiStructured turned = compressed(sized(matrix.t(), rows, columns), sized(kept.t(), rows, columns));
  return {own.values, as_squares(own.metadata), turned.values, as_squares(turned.metadata), masks};
}

void check_masks(const Tensor& input, const Tensor& masks) {
  TORCH_CHECK(masks.dim() == 3 && masks.size(0) == whole_rows(input) / 8 && masks.size(1) == whole_columns(input) / 8 &&
                  masks.size(2) == 8 && masks.is_contiguous() && masks.scalar_type() == at::kByte,
              "expected masks as _sparse_semi_structured_tile returns them for ", input.sizes());
}

std::tuple<Tensor, Tensor> semi_structured_apply(const Tensor& input, const Tensor& masks) {
  TORCH_CHECK(is_reduced(input), "Unsupported dtype - only `float16` and `bfloat16` are supported currently");
  TORCH_CHECK(input.dim() == 2 && input.size(1) % 32 == 0, "Wrong alignment shape[1]");
  check_masks(input, masks);
  Tensor matrix = sized(input, whole_rows(input), whole_columns(input)), kept = kept_by(masks);
  return {compressed(matrix, kept).values, compressed(matrix.t(), kept.t()).values};
}

Tensor semi_structured_apply_dense(const Tensor& input, const Tensor& masks) {
  TORCH_CHECK(is_reduced(input), "Unsupported `input` dtype");
  TORCH_CHECK(input.stride(0) == 1 || input.stride(1) == 1,
              "`input` should be either RowMajor or ColMajor. Invalid memory layout - try .contiguous()?");
  check_masks(input, masks);
  Tensor kept = kept_by(masks).narrow(0, 0, input.size(0)).narrow(1, 0, input.size(1));
  return at::masked_fill(input.contiguous(), kept.logical_not(), 0);
}

}  // namespace

KERNELS_OF_CUDA(semi_structured_tiles, library) {
  if (settings().title == "HIP") return;
  on_host<"aten::_sparse_semi_structured_tile", &semi_structured_tile>(library);
  on_host<"aten::_sparse_semi_structured_apply", &semi_structured_apply>(library);
  on_host<"aten::_sparse_semi_structured_apply_dense", &semi_structured_apply_dense>(library);
}

}  // namespace software
