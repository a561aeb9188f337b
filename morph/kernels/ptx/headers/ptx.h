// The instructions of PTX, as functions of the bits in registers (PTX ISA 9.0, "Instruction Set").
#pragma once

#include "ptx_memory.h"
#include "ptx_numbers.h"

#include <chrono>
#include <cstdlib>

namespace morph_ptx {

constexpr int kFlush = 1, kSaturate = 2;  // .ftz, .sat

// What .ftz makes of the bits of a number: of one that is smaller than all normal ones the sign alone.
template <class T>
Bits<T> flushed(Bits<T> bits, int modifiers) {
  constexpr Bits<T> normal = std::is_same_v<T, float> ? Bits<T>(0x800000u) : std::is_same_v<T, f16> ? Bits<T>(0x400) : 0;
  return modifiers & kFlush && (bits & ~kSign<T>) < normal ? Bits<T>(bits & kSign<T>) : bits;
}
template <class T>
T read(Bits<T> bits, int modifiers) {
  return value<T>(flushed<T>(bits, modifiers));
}

// A result: every NaN of float32 is the canonical one.
template <class T, class X>
Bits<T> written(X x, int modifiers) {
  if (modifiers & kSaturate) x = x > 0 ? (x < 1 ? x : X(1)) : X(0);
  if constexpr (std::is_same_v<T, float>)
    if (x != x) return 0x7fffffffu;
  return flushed<T>(bits<T>(T(x)), modifiers);
}

// A function of numbers, rounded once to T: halves are computed in a type in which no other rounding shows.
template <class T, int modifiers, class Function, class... Registers>
Bits<T> floating(Function function, Registers... registers) {
  using X = Computed<T>;
  return written<T>(function(X(read<T>(registers, modifiers))...), modifiers);
}

template <class T>
T opaque(T x) {
  asm volatile("" : "+m"(x));
  return x;
}

// Rounded in another direction than to the nearest, neither moved nor computed beforehand by the compiler.
template <class T, int modifiers, int direction, class Function, class... Registers>
__attribute__((noinline)) Bits<T> directed(Function function, Registers... registers) {
  int before = std::fegetround();
  std::fesetround(direction);
  T x = opaque(function(opaque(read<T>(registers, modifiers))...));
  std::fesetround(before);
  return written<T>(x, modifiers);
}

// A product with an explicit rounding, that no sum takes in.
template <class U>
U apart(U bits) {
  asm("" : "+r"(bits));
  return bits;
}

// Of both numbers in a register.
template <class T, class Function, class... Registers>
auto pair(Function function, Registers... registers) {
  using Pair = Unsigned<2 * sizeof(T)>;
  constexpr int width = 8 * sizeof(T);
  Bits<T> low = function(Bits<T>(registers)...), high = function(Bits<T>(registers >> width)...);
  return Pair(Pair(low) | Pair(high) << width);
}

template <class T> T add(T a, T b) { return a + b; }
template <class T> T sub(T a, T b) { return a - b; }
template <class T> T mul(T a, T b) { return a * b; }
template <class T> T div(T a, T b) { return a / b; }
template <class T> T fma(T a, T b, T c) { return std::fma(a, b, c); }
template <class T> T sqrt(T a) { return std::sqrt(a); }
template <class T> T rcp(T a) { return T(1) / a; }
template <class T> T rsqrt(T a) { return T(1) / std::sqrt(a); }
template <class T> T ex2(T a) { return std::exp2(a); }
template <class T> T lg2(T a) { return std::log2(a); }
template <class T> T sin(T a) { return std::sin(a); }
template <class T> T cos(T a) { return std::cos(a); }
template <class T> T tanh(T a) { return std::tanh(a); }

// The number where the other is none; -0 is less than +0.
template <bool greater, class T>
T choice(T a, T b) {
  if (a != a || b != b) return a != a ? b : a;
  if (a == b) return std::signbit(a) == greater ? b : a;
  return (a > b) == greater ? a : b;
}
template <class T> T max(T a, T b) { return choice<true>(a, b); }
template <class T> T min(T a, T b) { return choice<false>(a, b); }
template <class T> T max_nan(T a, T b) { return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : max(a, b); }
template <class T> T min_nan(T a, T b) { return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : min(a, b); }

template <class T, int modifiers>
Bits<T> negated(Bits<T> a) { return Bits<T>(bits<T>(read<T>(a, modifiers)) ^ kSign<T>); }
template <class T, int modifiers>
Bits<T> magnitude(Bits<T> a) { return Bits<T>(bits<T>(read<T>(a, modifiers)) & ~kSign<T>); }
template <class T>
Bits<T> copysign(Bits<T> sign, Bits<T> of) { return Bits<T>((of & ~kSign<T>) | (sign & kSign<T>)); }

// Integers. The bits of sums and products are those of numbers without a sign.
template <class T> Wide<T> wide_product(Bits<T> a, Bits<T> b) { return Wide<T>(T(a)) * Wide<T>(T(b)); }
template <class T> Bits<T> high_product(Bits<T> a, Bits<T> b) { return Bits<T>(wide_product<T>(a, b) >> 8 * sizeof(T)); }
// With the carry or borrow of the instruction before where it `reads` it, leaving its own where it `writes` it.
template <class U, bool reads, bool writes>
U carried_sum(U a, U b, bool& carry) {
  U sum;
  bool beyond = __builtin_add_overflow(a, b, &sum);
  beyond |= __builtin_add_overflow(sum, U(reads && carry), &sum);
  if (writes) carry = beyond;
  return sum;
}
template <class U, bool reads, bool writes>
U carried_difference(U a, U b, bool& carry) {
  U difference;
  bool beyond = __builtin_sub_overflow(a, b, &difference);
  beyond |= __builtin_sub_overflow(difference, U(reads && carry), &difference);
  if (writes) carry = beyond;
  return difference;
}
// By 0, which the ISA leaves open, all bits are set.
template <class T>
Bits<T> quotient(Bits<T> a, Bits<T> b) {
  if (!b) return Bits<T>(-1);
  return std::is_signed_v<T> && b == Bits<T>(-1) ? Bits<T>(0 - a) : Bits<T>(T(a) / T(b));
}
template <class T>
Bits<T> remainder(Bits<T> a, Bits<T> b) {
  if (!b) return a;
  return std::is_signed_v<T> && b == Bits<T>(-1) ? Bits<T>(0) : Bits<T>(T(a) % T(b));
}
template <class T> Bits<T> larger(Bits<T> a, Bits<T> b) { return T(a) > T(b) ? a : b; }
template <class T> Bits<T> smaller(Bits<T> a, Bits<T> b) { return T(a) < T(b) ? a : b; }
template <class U> U shl(U a, uint32_t by) { return by < 8 * sizeof(U) ? U(a << by) : U(0); }
template <class T>
Bits<T> shr(Bits<T> a, uint32_t by) {
  if (by >= 8 * sizeof(T)) return std::is_signed_v<T> && T(a) < 0 ? Bits<T>(-1) : Bits<T>(0);
  return Bits<T>(T(a) >> by);
}
inline uint32_t funnel(uint32_t low, uint32_t high, uint32_t by, bool left, bool clamps) {
  uint64_t both = uint64_t(high) << 32 | low;
  uint32_t n = clamps ? (by < 32 ? by : 32) : by & 31;
  return left ? uint32_t((both << n) >> 32) : uint32_t(both >> n);
}
template <class U>
U lop3(U a, U b, U c, uint32_t table) {
  U all = 0;
  for (int i = 0; i < 8; i++)
    if (table >> i & 1) all |= (i & 4 ? a : U(~a)) & (i & 2 ? b : U(~b)) & (i & 1 ? c : U(~c));
  return all;
}
template <class T>
Bits<T> bfe(Bits<T> a, uint32_t at, uint32_t size) {
  constexpr int width = 8 * sizeof(T);
  int from = int(at & 255), many = int(size & 255);
  int top = from + many - 1 < width - 1 ? from + many - 1 : width - 1;
  bool sign = std::is_signed_v<T> && many && a >> top & 1;
  Bits<T> field = 0;
  for (int i = 0; i < width; i++)
    if (i < many && from + i < width ? bool(a >> (from + i) & 1) : sign) field |= Bits<T>(1) << i;
  return field;
}
template <class U>
U bfi(U a, U into, uint32_t at, uint32_t size) {
  int from = int(at & 255), many = int(size & 255);
  for (int i = 0; i < many && from + i < int(8 * sizeof(U)); i++)
    into = U((into & ~(U(1) << (from + i))) | (a >> i & 1) << (from + i));
  return into;
}
template <class U>
U brev(U a) {
  U reversed = 0;
  for (size_t i = 0; i < 8 * sizeof(U); i++) reversed = U(reversed << 1 | (a >> i & 1));
  return reversed;
}
template <class U> uint32_t popc(U a) { return uint32_t(__builtin_popcountll(a)); }
template <class U>
uint32_t clz(U a) { return a ? uint32_t(__builtin_clzll(a)) - (64 - 8 * sizeof(U)) : 8 * sizeof(U); }
template <class T>
uint32_t bfind(Bits<T> a, bool as_shift) {
  if (std::is_signed_v<T> && T(a) < 0) a = Bits<T>(~a);
  if (!a) return 0xffffffffu;
  uint32_t zeros = clz<Bits<T>>(a);
  return as_shift ? zeros : uint32_t(8 * sizeof(T) - 1 - zeros);
}
inline uint32_t prmt(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t both = uint64_t(b) << 32 | a;
  uint32_t all = 0;
  for (int i = 0; i < 4; i++) {
    uint32_t by = selector >> 4 * i & 15, byte = uint32_t(both >> 8 * (by & 7)) & 255;
    if (by & 8) byte = byte & 128 ? 255 : 0;
    all |= byte << 8 * i;
  }
  return all;
}
template <class A, class B>
uint32_t dp4a(uint32_t a, uint32_t b, uint32_t sum) {
  for (int i = 0; i < 32; i += 8) sum += uint32_t(int32_t(A(a >> i)) * int32_t(B(b >> i)));
  return sum;
}
template <class A, class B>
uint32_t vabsdiff4(uint32_t a, uint32_t b, uint32_t sum) {
  for (int i = 0; i < 32; i += 8) sum += uint32_t(std::abs(int32_t(A(a >> i)) - int32_t(B(b >> i))));
  return sum;
}

// Two integers within the limits of `width` bits, the first above, and above both the lower bits of a third.
template <bool has_sign, int width>
uint32_t packed(uint32_t a, uint32_t b, uint32_t above = 0) {
  auto part = [](uint32_t from) {
    constexpr int32_t low = has_sign ? -(1 << (width - 1)) : 0, high = low + (1 << width) - 1;
    int32_t x = int32_t(from);
    return uint32_t(x < low ? low : x > high ? high : x) & ((1u << width) - 1);
  };
  return uint32_t(uint64_t(above) << 2 * width) | part(a) << width | part(b);
}

// Two numbers of eight bits: of two registers, the first of them above, or of a pair in one.
template <int exponent, int mantissa, class T, bool clips>
uint16_t narrowed_pair(uint32_t high, uint32_t low) {
  auto code = [](uint32_t from) {
    double x = double(value<T>(Bits<T>(from)));
    return narrowed<exponent, mantissa>(clips ? clipped(x) : x, FE_TONEAREST, true);
  };
  return uint16_t(code(high) << 8 | code(low));
}
template <int exponent, int mantissa, class T, bool clips>
uint16_t narrowed_pair(uint32_t both) {
  return narrowed_pair<exponent, mantissa, T, clips>(both >> 16, both & 0xffff);
}
template <int exponent, int mantissa, bool clips>
uint32_t widened_pair(uint16_t codes) {
  auto half = [](uint32_t code) {
    double x = widened<exponent, mantissa>(code);
    return uint32_t(f16(clips ? clipped(x) : x).code);
  };
  return half(codes >> 8) << 16 | half(codes & 255);
}

inline uint64_t nanoseconds() {
  return uint64_t(std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
}

}  // namespace morph_ptx
