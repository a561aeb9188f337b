// The numbers of a kernel: half, bfloat16 and the formats of eight bits; arithmetic is done in float.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include "functions.h"
#include "half.h"

template <class To, class From>
static inline To bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

static constexpr int smaller_of(int a, int b) { return a < b ? a : b; }
static inline int clamped(int64_t count, int most) { return count < 0 ? 0 : count > most ? most : int(count); }

// The copying of these types is spelled out: GCC vectorises no loop that copies a structure.

// Half precision, converted by whole numbers, which the compiler can do for many elements at once.
struct f16 {
  uint16_t raw;
  f16() = default;
  f16(const f16& other) : raw(other.raw) {}
  f16& operator=(const f16& other) {
    raw = other.raw;
    return *this;
  }
#if defined(MORPH_HAS_HALF_INSTRUCTION)
  explicit f16(float value) : raw(uint16_t(morph_half(value))) {}
#else
  explicit f16(float value) {
    uint32_t word = bits<uint32_t>(value), magnitude = word & 0x7fffffffu;
    uint32_t normal = (magnitude + 0xc8000fffu + (magnitude >> 13 & 1)) >> 13;
    uint32_t subnormal = bits<uint32_t>(bits<float>(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t chosen = magnitude < 0x38800000u ? subnormal : normal;
    chosen = magnitude >= 0x477ff000u ? 0x7c00u : chosen;
    chosen = magnitude > 0x7f800000u ? 0x7e00u : chosen;
    raw = uint16_t(chosen | (word >> 16 & 0x8000u));
  }
#endif
  explicit f16(double value) : raw(bits<uint16_t>(_Float16(value))) {}
  template <class T> explicit f16(T value) : f16(float(value)) {}
  operator float() const {
    uint32_t magnitude = uint32_t(raw & 0x7fff) << 13;
    uint32_t word = bits<uint32_t>(bits<float>(magnitude) * 0x1p112f);
    word |= magnitude >= 0x0f800000u ? 0x7f800000u : 0;
    return bits<float>(word | uint32_t(raw & 0x8000) << 16);
  }
};

struct bf16 {
  uint16_t raw;
  bf16() = default;
  bf16(const bf16& other) : raw(other.raw) {}
  bf16& operator=(const bf16& other) {
    raw = other.raw;
    return *this;
  }
  explicit bf16(float value) {
    uint32_t word = bits<uint32_t>(value);
    uint32_t rounded = (word + 0x7fff + ((word >> 16) & 1)) >> 16;
    raw = uint16_t(value != value ? 0x7fc0u : rounded);
  }
  template <class T> explicit bf16(T value) : bf16(float(value)) {}
  operator float() const { return bits<float>(uint32_t(raw) << 16); }
};

// A format of eight bits. `Finite`: it has no infinities, and what is too large becomes the largest number.
// `Unsigned zero`: the only NaN is the pattern of minus zero.
template <int Exponent, int Mantissa, int Bias, bool Finite, bool UnsignedZero>
struct f8 {
  uint8_t raw;
  static constexpr int kLargest = UnsignedZero ? 0x7f : Finite ? 0x7e : ((1 << Exponent) - 1) * (1 << Mantissa) - 1;
  static constexpr int kNan = UnsignedZero ? 0x80 : 0x7f;
  f8() = default;
  f8(const f8& other) : raw(other.raw) {}
  f8& operator=(const f8& other) {
    raw = other.raw;
    return *this;
  }
  explicit f8(float value) : raw(rounded(value, true)) {}
  operator float() const {
    int magnitude = raw & 0x7f, exponent = magnitude >> Mantissa, mantissa = magnitude & ((1 << Mantissa) - 1);
    if (UnsignedZero ? raw == 0x80 : Finite ? magnitude == 0x7f : magnitude > kLargest + 1) return math::kNan;
    if (!Finite && magnitude == kLargest + 1) return raw & 0x80 ? -math::kInfinity : math::kInfinity;
    float whole = exponent ? 1.f : 0.f;
    float value = math::ldexp(whole + float(mantissa) / (1 << Mantissa), (exponent ? exponent : 1) - Bias);
    return raw & 0x80 ? -value : value;
  }
  static uint8_t rounded(float value, bool to_nearest) {
    uint8_t sign = bits<uint32_t>(value) >> 31 ? 0x80 : 0;
    if (value != value) return UnsignedZero ? kNan : sign | kNan;
    float magnitude = math::fabs(value);
    float largest = bits_of(kLargest);
    if (magnitude >= largest) return sign | kLargest;
    int exponent = int(bits<uint32_t>(magnitude) >> 23) - 127;
    if (exponent < 1 - Bias) exponent = 1 - Bias;
    float steps = math::ldexp(magnitude, Mantissa - exponent);
    int count = int(to_nearest ? math::nearbyint(steps) : math::trunc(steps));
    int result = ((exponent + Bias - 1) << Mantissa) + count;
    if (result > kLargest) result = kLargest;
    return result == 0 && UnsignedZero ? 0 : sign | uint8_t(result);
  }
  static float bits_of(int pattern) {
    f8 number;
    number.raw = uint8_t(pattern);
    return float(number);
  }
};
using f8e5m2 = f8<5, 2, 15, false, false>;
using f8e4m3fn = f8<4, 3, 7, true, false>;
using f8e5m2fnuz = f8<5, 2, 16, true, true>;
using f8e4m3fnuz = f8<4, 3, 8, true, true>;

// A number of four bits: a sign, two bits of exponent, one of mantissa.
static inline float four_bits(int pattern) {
  constexpr float kNumbers[] = {0.f, 0.5f, 1.f, 1.5f, 2.f, 3.f, 4.f, 6.f};
  float magnitude = kNumbers[pattern & 7];
  return pattern & 8 ? -magnitude : magnitude;
}

// A scale: an exponent of eight bits.
static inline float power_of_two(int8_t exponent) {
  uint8_t raw = uint8_t(exponent);
  return raw == 255 ? math::kNan : raw ? bits<float>(uint32_t(raw) << 23) : bits<float>(0x00400000u);
}

// Rounding towards zero, where the usual rounding is to the nearest.
template <class To>
static inline To toward_zero(float value) {
  if constexpr (std::is_same_v<To, bf16>) {
    bf16 number;
    number.raw = value != value ? 0x7fc0 : uint16_t(bits<uint32_t>(value) >> 16);
    return number;
  } else if constexpr (std::is_same_v<To, f16>) {
    f16 number = f16(value);
    bool is_away = math::fabs(float(number)) > math::fabs(value);
    return is_away ? bits<f16>(uint16_t(bits<uint16_t>(number) - 1)) : number;
  } else {
    To number;
    number.raw = To::rounded(value, false);
    return number;
  }
}

// A division by zero stops a CPU and not a GPU; lanes that are masked out may divide by anything.
template <class T>
static inline T quotient(T a, T b) {
  if (b == 0) return T(-1);
  if (std::is_signed_v<T> && b == T(-1)) return T(0 - std::make_unsigned_t<T>(a));
  return T(a / b);
}
template <class T>
static inline T remainder_of(T a, T b) {
  if (b == 0 || (std::is_signed_v<T> && b == T(-1))) return b == 0 ? a : T(0);
  return T(a % b);
}

// A shift by the width or more leaves zero, or the sign.
template <class T>
static inline T shifted_left(T a, T count) {
  using U = std::make_unsigned_t<T>;
  return U(count) >= sizeof(T) * 8 ? T(0) : T(U(a) << U(count));
}
template <class T>
static inline T shifted_right(T a, T count) {
  using U = std::make_unsigned_t<T>;
  constexpr U kLast = sizeof(T) * 8 - 1;
  if (std::is_unsigned_v<T> && U(count) > kLast) return T(0);
  return T(a >> (U(count) > kLast ? kLast : U(count)));
}

static inline int32_t unsigned_high_product(int32_t a, int32_t b) {
  return int32_t((uint64_t(uint32_t(a)) * uint32_t(b)) >> 32);
}
static inline int64_t unsigned_high_product(int64_t a, int64_t b) {
  return int64_t((static_cast<unsigned __int128>(uint64_t(a)) * uint64_t(b)) >> 64);
}
