// Matrices of a warp (CUDA C++ Programming Guide, "Warp Matrix Functions"). Which lane holds which element is not documented
// there: here lane i has the i-th part of a matrix, row by row, or of the second factor column by column.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "morph/halves.h"
#include "morph/threads.h"

namespace nvcuda {
namespace wmma {

enum layout_t { mem_row_major, mem_col_major };
struct row_major {};
struct col_major {};
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
namespace precision {
struct tf32 {};
}  // namespace precision
namespace experimental {  // whose fragments of four bits and one have no elements here
namespace precision {
struct u4;
struct s4;
struct b1;
}  // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
}  // namespace experimental
template <class D, class A, class B, class C>
void bmma_sync(D& d, const A& a, const B& b, const C& c, experimental::bmmaBitOp operation,
               experimental::bmmaAccumulateOp sum);

inline float __float_to_tf32(float x) {  // to the nearest number with ten bits, halves away from zero
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  if ((bits & 0x7f800000u) != 0x7f800000u) bits += 0x1000u;
  bits &= ~0x1fffu;
  std::memcpy(&x, &bits, 4);
  return x;
}

namespace morph_detail {

template <class T> struct Stored { using type = T; };
template <> struct Stored<precision::tf32> { using type = float; };
template <class Use, int m, int n, int k> constexpr int kElements = m * n / 32;
template <int m, int n, int k> constexpr int kElements<matrix_a, m, n, k> = m * k / 32;
template <int m, int n, int k> constexpr int kElements<matrix_b, m, n, k> = n * k / 32;

// The inner length of a matrix as its elements are numbered.
template <class Use, int m, int n, int k> constexpr int kInner = k;
template <int m, int n, int k> constexpr int kInner<accumulator, m, n, k> = n;

template <class T>
auto exact(T x) {
  if constexpr (std::is_integral_v<T>) return int64_t(x);
  else if constexpr (std::is_same_v<T, double>) return x;
  else return double(float(x));
}

// All lanes' elements, one lane after the other.
template <class T, int count>
void gather(const T (&mine)[count], T* all) {
  constexpr int together = count * sizeof(T) < 16 ? count : 16 / sizeof(T);
  struct Chunk { T of[together]; };
  for (int from = 0; from < count; from += together) {
    Chunk chunk;
    std::memcpy(&chunk, mine + from, sizeof chunk);
    ::morph_cuda::Exchange<Chunk> chunks(::morph_cuda::kAll, chunk);
    for (int lane = 0; lane < 32; lane++) {
      Chunk other = chunks.read(lane);
      std::memcpy(all + lane * count + from, &other, sizeof other);
    }
  }
}

}  // namespace morph_detail

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment {
 public:
  static constexpr int num_elements = morph_detail::kElements<Use, m, n, k>;
  typename morph_detail::Stored<T>::type x[num_elements];
};

template <class Use, int m, int n, int k, class T, class Layout, class V>
void fill_fragment(fragment<Use, m, n, k, T, Layout>& into, const V& value) {
  for (auto& each : into.x) each = typename morph_detail::Stored<T>::type(value);
}

namespace morph_detail {

// Calls a function with each element of this lane and its distance from the first in memory.
template <class Use, int m, int n, int k, class T, class Layout, class F>
void visit(fragment<Use, m, n, k, T, Layout>& of, unsigned stride, bool rows_lie_together, F f) {
  constexpr int inner = kInner<Use, m, n, k>, count = fragment<Use, m, n, k, T, Layout>::num_elements;
  constexpr bool by_columns = std::is_same_v<Use, matrix_b>;
  for (int i = 0; i < count; i++) {
    int place = ::morph_cuda::lane() * count + i, outer = place / inner, within = place % inner;
    int row = by_columns ? within : outer, column = by_columns ? outer : within;
    f(of.x[i], rows_lie_together ? size_t(row) * stride + column : size_t(column) * stride + row);
  }
}

}  // namespace morph_detail

template <class Use, int m, int n, int k, class T, class Layout, class V>
void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& into, const V* from, unsigned stride) {
  morph_detail::visit(into, stride, std::is_same_v<Layout, row_major>, [=](auto& x, size_t at) { x = from[at]; });
}
template <int m, int n, int k, class T, class V>
void load_matrix_sync(fragment<accumulator, m, n, k, T>& into, const V* from, unsigned stride, layout_t layout) {
  morph_detail::visit(into, stride, layout == mem_row_major, [=](auto& x, size_t at) { x = from[at]; });
}
// All lanes have written when it ends.
template <int m, int n, int k, class T, class V>
void store_matrix_sync(V* to, const fragment<accumulator, m, n, k, T>& from, unsigned stride, layout_t layout) {
  auto copy = from;
  morph_detail::visit(copy, stride, layout == mem_row_major, [=](auto& x, size_t at) { to[at] = x; });
  __syncwarp();
}

template <int m, int n, int k, class A, class LA, class B, class LB, class C, class D>
void mma_sync(fragment<accumulator, m, n, k, D>& result, const fragment<matrix_a, m, n, k, A, LA>& a,
              const fragment<matrix_b, m, n, k, B, LB>& b, const fragment<accumulator, m, n, k, C>& c, bool saturates = false) {
  static_assert(!std::is_same_v<LA, void> && !std::is_same_v<LB, void>);
  typename morph_detail::Stored<A>::type rows[m * k];
  typename morph_detail::Stored<B>::type columns[n * k];
  morph_detail::gather(a.x, rows);
  morph_detail::gather(b.x, columns);
  constexpr int count = fragment<accumulator, m, n, k, D>::num_elements;
  for (int i = 0; i < count; i++) {
    int place = ::morph_cuda::lane() * count + i;
    auto sum = morph_detail::exact(c.x[i]);
    for (int at = 0; at < k; at++)
      sum += morph_detail::exact(rows[place / n * k + at]) * morph_detail::exact(columns[place % n * k + at]);
    if constexpr (std::is_integral_v<D>)
      if (saturates) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    result.x[i] = D(sum);
  }
}

}  // namespace wmma
}  // namespace nvcuda
