// See semi_structured.h. Four bits of metadata are the places of two values among four. A value of 32 bits counts as two
// of 16: one of two is kept.
#include "memory/host_view.h"
#include "operators/semi_structured.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <type_traits>

namespace software {
namespace {

using at::Tensor;

template <class Value>
struct OfValue {
  using Number = std::conditional_t<sizeof(Value) == 1, uint32_t, uint16_t>;  // of metadata
  static constexpr at::ScalarType type = sizeof(Number) == 4 ? at::kInt : at::kShort;
  static constexpr int64_t size = sizeof(Value) == 4 ? 2 : 4, kept = size / 2;
};

// Numbers in blocks of rows, whose eighths are interleaved, then in squares of two by two, which are transposed, then in
// columns of such squares.
template <class Number>
class MetadataCodes {
 public:
  static constexpr int64_t groups = 2 * sizeof(Number), block = sizeof(Number) == 2 ? 32 : 16;

  MetadataCodes(Number* numbers, int64_t rows) : numbers_(numbers), rows_(rows) {}
  static void check(const Tensor& metadata, int64_t rows, int64_t columns) {
    bool fits = metadata.numel() == rows * columns / groups && metadata.is_non_overlapping_and_dense();
    TORCH_CHECK(rows % block == 0 && columns % (2 * groups) == 0 && fits, "expected rows by ", block, ", groups by ",
                2 * groups, " and metadata for them, but got ", rows, " rows, ", columns, " groups and ",
                metadata.numel(), " numbers of metadata");
  }
  int at(int64_t row, int64_t group) const { return numbers_[place(row, group / groups)] >> shift(group) & 15; }
  void set(int64_t row, int64_t group, int code) { numbers_[place(row, group / groups)] |= Number(code) << shift(group); }

 private:
  static int shift(int64_t group) { return int(group % groups * 4); }
  int64_t place(int64_t row, int64_t column) const {
    int64_t to = row / block * block + row % 8 * (block / 8) + row % block / 8;
    return column / 2 * 2 * rows_ + (to / 2 * 2 + column % 2) * 2 + to % 2;
  }

  Number* numbers_;
  int64_t rows_;
};

constexpr int ABSENT = -1;

// The places of two values among four. A lone value stays in its half, and the other place is then zero.
struct Places {
  explicit Places(std::array<bool, 4> kept)
      : first(kept[2] && kept[3] ? 2 : kept[0] ? 0 : kept[1] ? 1 : ABSENT),
        second(kept[3] ? 3 : kept[2] ? 2 : kept[0] && kept[1] ? 1 : ABSENT) {}
  int code() const { return std::max(first, 0) | std::max(second, 0) << 2; }
  int operator[](int64_t i) const { return i ? second : first; }

  int first, second;
};

template <class Value>
Places places(const bool* kept) {
  constexpr int64_t size = OfValue<Value>::size;
  return Places({kept[0], kept[size / 4], kept[size / 2], kept[size * 3 / 4]});
}

template <class Value>
SemiStructured compress(const Tensor& matrix, const Tensor& kept) {
  using Own = OfValue<Value>;
  using Codes = MetadataCodes<typename Own::Number>;
  int64_t rows = matrix.size(0), groups = matrix.size(1) / Own::size;
  Tensor values = at::zeros({rows, groups * Own::kept}, matrix.options());
  Tensor metadata = at::zeros({rows, groups / Codes::groups}, matrix.options().dtype(Own::type));
  Codes::check(metadata, rows, groups);
  Codes codes(mutable_elements<typename Own::Number>(metadata), rows);
  const auto* from = elements<Value>(matrix);
  const bool* keep = elements<bool>(kept);
  auto* to = mutable_elements<Value>(values);
  for (int64_t group = 0; group < rows * groups; group++, from += Own::size, keep += Own::size, to += Own::kept) {
    Places own = places<Value>(keep);
    codes.set(group / groups, group % groups, own.code());
    for (int64_t i = 0; i < Own::kept; i++)
      if (own[i] != ABSENT) to[i] = from[own[i] * Own::size / 4];
  }
  return {values, metadata};
}

template <class Value>
Tensor decompress(const Tensor& values, const Tensor& metadata) {
  using Own = OfValue<Value>;
  using Codes = MetadataCodes<const typename Own::Number>;
  TORCH_CHECK(metadata.scalar_type() == Own::type, "spgemm_cutlass : Expected meta datatype ", Own::type, ", but got ",
              metadata.scalar_type());
  int64_t rows = values.size(0), groups = values.size(1) / Own::kept;
  Tensor matrix = at::zeros({rows, groups * Own::size}, values.options());
  Codes::check(metadata, rows, groups);
  Codes codes(elements<typename Own::Number>(metadata), rows);
  const auto* from = elements<Value>(values);
  auto* to = mutable_elements<Value>(matrix);
  for (int64_t group = 0; group < rows * groups; group++, from += Own::kept, to += Own::size) {
    int code = codes.at(group / groups, group % groups);
    for (int64_t i = 0; i < Own::kept; i++)
      if (from[i]) to[(code >> 2 * i & 3) * Own::size / 4] = from[i];  // not over one in the same place
  }
  return matrix;
}

template <class Function>
auto with_value(at::ScalarType type, Function function) {
  switch (at::elementSize(type)) {
    case 1: return function(uint8_t());
    case 2: return function(uint16_t());
    default: return function(uint32_t());
  }
}

}  // namespace

SemiStructured compressed(const Tensor& matrix, const Tensor& kept) {
  return with_value(matrix.scalar_type(), [&](auto value) {
    return compress<decltype(value)>(matrix.contiguous(), kept.contiguous());
  });
}

// CUTLASS reads the metadata as they lie in memory.
Tensor decompressed(const Tensor& values, const Tensor& metadata) {
  return with_value(values.scalar_type(), [&](auto value) {
    return decompress<decltype(value)>(values.contiguous(), metadata);
  });
}

}  // namespace software
