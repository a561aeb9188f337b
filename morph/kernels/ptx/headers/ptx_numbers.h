// The numbers in PTX's registers: their bits, small floating-point types, and conversions (PTX ISA 9.0, "cvt").
#pragma once

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace morph_ptx {

constexpr int kNearest = FE_TONEAREST, kTowardZero = FE_TOWARDZERO, kDownward = FE_DOWNWARD, kUpward = FE_UPWARD;

template <int bytes> struct UnsignedOf;
template <> struct UnsignedOf<1> { using type = uint8_t; };
template <> struct UnsignedOf<2> { using type = uint16_t; };
template <> struct UnsignedOf<4> { using type = uint32_t; };
template <> struct UnsignedOf<8> { using type = uint64_t; };
template <int bytes> using Unsigned = typename UnsignedOf<bytes>::type;
template <class T> using Bits = Unsigned<sizeof(T)>;

template <class T> T value(Bits<T> from) { return __builtin_bit_cast(T, from); }
template <class T> Bits<T> bits(T from) { return __builtin_bit_cast(Bits<T>, from); }
template <class T> constexpr Bits<T> kSign = Bits<T>(Bits<T>(1) << (8 * sizeof(T) - 1));

template <class T> struct WideOf { using type = std::conditional_t<sizeof(T) == 8, __int128, int64_t>; };
template <> struct WideOf<uint32_t> { using type = uint64_t; };
template <> struct WideOf<uint64_t> { using type = unsigned __int128; };
template <class T> using Wide = typename WideOf<T>::type;

template <class X>
X to_integer(X x, int direction) {
  if (direction == FE_TOWARDZERO) return std::trunc(x);
  if (direction == FE_DOWNWARD) return std::floor(x);
  return direction == FE_UPWARD ? std::ceil(x) : std::nearbyint(x);
}

// The codes of a format. Of four bits of exponent and three of mantissa (e4m3) it has no infinity and one NaN.
template <int exponent, int mantissa>
struct Format {
  static constexpr bool has_infinity = !(exponent == 4 && mantissa == 3);
  static constexpr int bias = (1 << (exponent - 1)) - 1, top = (1 << exponent) - 1;
  static constexpr uint32_t infinity = uint32_t(top) << mantissa;
  static constexpr uint32_t nan = infinity | ((1u << mantissa) - 1);
  static constexpr uint32_t most = has_infinity ? infinity - 1 : nan - 1, beyond = has_infinity ? infinity : nan;
};

// A number in a format. What is too large becomes the largest where it `saturates`, or by the direction.
template <int exponent, int mantissa, class X>
uint32_t narrowed(X x, int direction = FE_TONEAREST, bool saturates = false) {
  using F = Format<exponent, mantissa>;
  uint32_t sign = std::signbit(x) ? 1u << (exponent + mantissa) : 0;
  if (x != x) return F::nan;
  X size = std::fabs(x);
  if (std::isinf(size)) return sign | (saturates ? F::most : F::beyond);
  int above;  // the exponent of the first power of two that is greater
  std::frexp(size, &above);
  int power = size == 0 || above - 1 < 1 - F::bias ? 1 - F::bias : above - 1;
  X steps = to_integer(std::ldexp(sign ? -size : size, mantissa - power), direction);
  X code = std::fabs(steps) + std::ldexp(X(power + F::bias - 1), mantissa);
  if (code <= F::most) return sign | uint32_t(code);
  bool inward = direction == FE_TOWARDZERO || (direction == FE_UPWARD && sign) || (direction == FE_DOWNWARD && !sign);
  return sign | (saturates || inward ? F::most : F::beyond);
}

template <int exponent, int mantissa>
double widened(uint32_t code) {
  using F = Format<exponent, mantissa>;
  bool negative = code >> (exponent + mantissa) & 1;
  uint32_t size = code & F::nan;
  int power = int(size >> mantissa), steps = int(size & ((1u << mantissa) - 1));
  double x = power ? std::ldexp((1 << mantissa) + steps, power - F::bias - mantissa)
                   : std::ldexp(steps, 1 - F::bias - mantissa);
  if (F::has_infinity && power == F::top) x = steps ? NAN : INFINITY;
  if (!F::has_infinity && size == F::nan) x = NAN;
  return negative ? -x : x;
}

template <int exponent, int mantissa>
struct Half {
  uint16_t code;
  Half() = default;
  explicit Half(double x) : code(uint16_t(narrowed<exponent, mantissa>(x))) {}
  operator double() const { return widened<exponent, mantissa>(code); }
};
using f16 = Half<5, 10>;
using bf16 = Half<8, 7>;
template <class T> constexpr bool is_half = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class T> using Computed = std::conditional_t<is_half<T>, double, T>;

template <class T> uint32_t widened_bits(Bits<T> half) { return bits<float>(float(double(value<T>(half)))); }

template <class X>
float to_float(X x, int direction) {
  float near = float(x);
  if (direction == FE_TONEAREST || x != x || X(near) == x) return near;
  bool is_above = X(near) > x, inward = direction == FE_TOWARDZERO;
  if (is_above && (direction == FE_DOWNWARD || (inward && x > 0))) return std::nextafter(near, -INFINITY);
  if (!is_above && (direction == FE_UPWARD || (inward && x < 0))) return std::nextafter(near, INFINITY);
  return near;
}
// What is negative becomes 0.
inline double clipped(double x) { return std::signbit(x) && x == x ? 0.0 : x; }
template <class To>
Bits<To> to_half(uint32_t from, int direction, bool clips, bool saturates) {
  double x = clips ? clipped(value<float>(from)) : value<float>(from);
  constexpr int exponent = std::is_same_v<To, f16> ? 5 : 8;
  return Bits<To>(narrowed<exponent, 15 - exponent>(x, direction, saturates));
}
// Of a double, or of a long double, which holds every integer of 64 bits.
template <class To, class X>
Bits<To> to_floating(X x, int direction) {
  if constexpr (std::is_same_v<To, double>) return bits<double>(double(x));
  else if constexpr (std::is_same_v<To, float>) return x != x ? 0x7fffffffu : bits<float>(to_float(x, direction));
  else if constexpr (std::is_same_v<To, f16>) return Bits<To>(narrowed<5, 10>(x, direction));
  else return Bits<To>(narrowed<8, 7>(x, direction));
}

// A floating-point number as an integer: what is none becomes 0, what is too large the nearest.
template <class To>
Bits<To> to_whole(double x) {
  using Limits = std::numeric_limits<To>;
  if (x != x) return 0;
  return Bits<To>(x <= double(Limits::min()) ? Limits::min() : x >= double(Limits::max()) ? Limits::max() : To(x));
}
// An integer within the limits of another type.
template <class To>
Bits<To> clamped(__int128 x) {
  __int128 low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
  return Bits<To>(x < low ? low : x > high ? high : x);
}

}  // namespace morph_ptx
