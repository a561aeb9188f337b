// The instructions of PTX that the lanes of a warp carry out together (PTX ISA 9.0, "shfl.sync", "match.sync", "mma.sync",
// "ldmatrix", "stmatrix", "movmatrix").
#pragma once

#include "morph/assembly.h"

namespace morph_ptx {

enum class Shuffle { up, down, bfly, idx };

// The value, and whether the lane that it was asked of is within the bounds that `c` holds.
template <Shuffle how>
Vector<uint32_t, 2> shuffle(uint32_t a, uint32_t b, uint32_t c, uint32_t mask) {
  int lane = ::morph_cuda::lane(), by = int(b & 31), clamp = int(c & 31), segment = int(c >> 8 & 31);
  int last = (lane & segment) | (clamp & ~segment), source = (lane & segment) | (by & ~segment);
  if (how == Shuffle::up) source = lane - by;
  if (how == Shuffle::down) source = lane + by;
  if (how == Shuffle::bfly) source = lane ^ by;
  bool inside = how == Shuffle::up ? source >= last : source <= last;
  return {::morph_cuda::shuffled(mask, a, source, inside), inside};
}

template <class T>
Vector<uint32_t, 1> matched_any(uint32_t mask, T a) {
  return {::__match_any_sync(mask, a)};
}
template <class T>
Vector<uint32_t, 2> matched_all(uint32_t mask, T a) {
  int equal;
  uint32_t lanes = ::__match_all_sync(mask, a, &equal);
  return {lanes, uint32_t(equal)};
}

// Elements that share a register, or are narrower than their type.
struct tf32 {};
struct e4m3 {};
struct e5m2 {};
struct s4 {};
struct u4 {};
template <class T> struct ElementOf { static constexpr int width = 8 * sizeof(T); };
template <> struct ElementOf<tf32> { static constexpr int width = 32; };
template <> struct ElementOf<e4m3> { static constexpr int width = 8; };
template <> struct ElementOf<e5m2> { static constexpr int width = 8; };
template <> struct ElementOf<s4> { static constexpr int width = 4; };
template <> struct ElementOf<u4> { static constexpr int width = 4; };

template <class T, class R>
auto element(R from, int place) {
  constexpr int width = ElementOf<T>::width;
  R bits = R(from >> (place * width));
  if constexpr (std::is_same_v<T, tf32>) return double(value<float>(uint32_t(bits) & ~0x1fffu));
  else if constexpr (std::is_same_v<T, e4m3>) return widened<4, 3>(uint32_t(bits & 255));
  else if constexpr (std::is_same_v<T, e5m2>) return widened<5, 2>(uint32_t(bits & 255));
  else if constexpr (std::is_same_v<T, s4>) return int64_t(int32_t(uint32_t(bits) << 28) >> 28);
  else if constexpr (std::is_same_v<T, u4>) return int64_t(bits & 15);
  else if constexpr (std::is_integral_v<T>) return int64_t(T(bits));
  else return double(value<T>(Bits<T>(bits)));
}

// A * B + C of matrices whose elements are spread over the lanes: lane 4 g + t holds, of A, the rows g and g + 8 and the
// columns that begin at t times the elements of a register; of B, the column g; of C, the columns 2 t and 2 t + 1.
template <int rows, int depth, class A, class B, class C>
struct Product {
  using R = std::conditional_t<sizeof(C) == 8, uint64_t, uint32_t>;
  template <class T> static constexpr int in_register = 8 * sizeof(R) / ElementOf<T>::width;
  static constexpr int halves = rows / 8, of_a = rows * depth / 32 / in_register<A>, of_b = depth / 4 / in_register<B>;
  static constexpr int in_sum = sizeof(C) == 2 ? 2 : 1, of_c = rows / 4 / in_sum;
  using Sum = std::conditional_t<std::is_integral_v<C>, int64_t, double>;

  static Vector<R, of_c> of(Vector<R, of_a> a, Vector<R, of_b> b, Vector<R, of_c> c, bool saturates) {
    ::morph_cuda::Exchange<Vector<R, of_a>> left(::morph_cuda::kAll, a);
    ::morph_cuda::Exchange<Vector<R, of_b>> right(::morph_cuda::kAll, b);
    Vector<R, of_c> all{};
    int lane = ::morph_cuda::lane();
    for (int half = 0; half < halves; half++)
      for (int side = 0; side < 2; side++) {
        int place = 2 * half + side, shift = place % in_sum * 16;
        Sum sum = element<C>(R(c[place / in_sum] >> shift), 0);
        for (int t = 0; t < 4; t++) {
          auto row = left.read(lane / 4 * 4 + t);
          auto column = right.read((lane % 4 * 2 + side) * 4 + t);
          for (int i = 0; i < depth / 4; i++)
            sum += Sum(element<A>(row[i / in_register<A> * halves + half], i % in_register<A>)) *
                   Sum(element<B>(column[i / in_register<B>], i % in_register<B>));
        }
        all.parts[place / in_sum] |= R(written_sum(sum, saturates)) << shift;
      }
    return all;
  }

  static auto written_sum(Sum sum, bool saturates) {
    if constexpr (std::is_integral_v<C>) return saturates ? clamped<C>(sum) : Bits<C>(sum);
    else return bits<C>(C(sum));
  }
};

// Four products of 8 by 4 by 8 halves, each of four lanes and those 16 above: lane l of these eight, or of four where a
// matrix lies the other way, has a row of A and a column of B (PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16").
template <bool left_by_rows, bool right_by_rows, class C>
struct QuadPairs {
  static constexpr int in_sum = sizeof(C) == 2 ? 2 : 1, of_c = 8 / in_sum;
  using Halves = ::morph_cuda::Exchange<Vector<uint32_t, 2>>;

  static Vector<uint32_t, of_c> of(Vector<uint32_t, 2> a, Vector<uint32_t, 2> b, Vector<uint32_t, of_c> c) {
    Halves left(::morph_cuda::kAll, a), right(::morph_cuda::kAll, b);
    Vector<uint32_t, of_c> all{};
    for (int i = 0; i < 8; i++) {
      double sum = element<C>(c[i / in_sum] >> (i % in_sum * 16), 0);
      for (int k = 0; k < 4; k++)
        sum += element_of(left, row(i), k, left_by_rows) * element_of(right, column(i), k, !right_by_rows);
      all.parts[i / in_sum] |= uint32_t(bits<C>(C(sum))) << (i % in_sum * 16);
    }
    return all;
  }

 private:
  static int row(int i) {
    int lane = ::morph_cuda::lane();
    return lane / 16 * 4 + (in_sum == 2 ? lane % 4 : lane % 2 + i / 2 % 2 * 2);
  }
  static int column(int i) { return in_sum == 2 ? i : i / 4 * 4 + ::morph_cuda::lane() / 2 % 2 * 2 + i % 2; }
  // Of A's row or B's column the element k, which the lane of that row or column has, or that of k.
  static double element_of(Halves& halves, int line, int k, bool by_lines) {
    auto held = halves.read(::morph_cuda::lane() % 16 / 4 * 4 + line / 4 * 16 + (by_lines ? line % 4 : k));
    int place = by_lines ? k : line % 4;
    return element<f16>(held[place / 2], place % 2);
  }
};

// Each lane of the first 8 * count names the 16 bytes of a row; lane 4 g + t gets the elements 2 t and 2 t + 1 of row g of
// each matrix, or of its column g.
template <int count, bool transposed>
Vector<uint32_t, count> load_matrices(unsigned char* row) {
  ::morph_cuda::Exchange<unsigned char*> rows(::morph_cuda::kAll, row);
  Vector<uint32_t, count> all;
  int g = ::morph_cuda::lane() / 4, t = ::morph_cuda::lane() % 4;
  for (int matrix = 0; matrix < count; matrix++) {
    uint16_t parts[2];
    for (int i = 0; i < 2; i++) {
      int from = transposed ? 2 * t + i : g, column = transposed ? g : 2 * t + i;
      std::memcpy(&parts[i], rows.read(8 * matrix + from) + 2 * column, 2);
    }
    std::memcpy(&all.parts[matrix], parts, 4);
  }
  return all;
}
template <int count, bool transposed>
void store_matrices(unsigned char* row, const Vector<uint32_t, count>& all) {
  ::morph_cuda::Exchange<unsigned char*> rows(::morph_cuda::kAll, row);
  int g = ::morph_cuda::lane() / 4, t = ::morph_cuda::lane() % 4;
  for (int matrix = 0; matrix < count; matrix++)
    for (int i = 0; i < 2; i++) {
      int to = transposed ? 2 * t + i : g, column = transposed ? g : 2 * t + i;
      uint16_t part = uint16_t(all[matrix] >> 16 * i);
      std::memcpy(rows.read(8 * matrix + to) + 2 * column, &part, 2);
    }
}
// Lane 4 g + t has the elements 2 t and 2 t + 1 of row g of a matrix, and gets those of its column g.
inline uint32_t turned_matrix(uint32_t pair) {
  ::morph_cuda::Exchange<uint32_t> pairs(::morph_cuda::kAll, pair);
  int g = ::morph_cuda::lane() / 4, t = ::morph_cuda::lane() % 4;
  auto element = [&](int row) { return pairs.read(4 * row + g / 2) >> 16 * (g % 2) & 0xffff; };
  return element(2 * t) | element(2 * t + 1) << 16;
}

}  // namespace morph_ptx
