// The mathematics of a kernel. What a loop often calls is written so that the compiler can vectorise it.
#pragma once
#include "numbers.h"

namespace math {

// Adding this rounds to a whole number, which is then in the lowest bits.
static constexpr float kRounder = 12582912.f;

// Half of two to the power of a whole number, zero for -126; given the number and the rounder.
static inline float half_power(float rounded) {
  return bits<float>((bits<int32_t>(rounded) - bits<int32_t>(kRounder) + 126) << 23);
}
static inline float between(float low, float x, float high) {
  float above = low > x ? low : x;  // NaN stays
  return high < above ? high : above;
}

// 2^x within about one unit of the last place; results below the normal numbers are zero, as on a GPU.
static inline float exp2(float x) {
  float clamped = between(-126.f, x, 128.f);
  float rounded = clamped + kRounder, rest = clamped - (rounded - kRounder);
  float p = 1.5353359049e-4f;
  p = p * rest + 1.3398875017e-3f;
  p = p * rest + 9.6184369177e-3f;
  p = p * rest + 5.5503323674e-2f;
  p = p * rest + 2.4022647738e-1f;
  p = p * rest + 6.9314718246e-1f;
  p = p * rest + 1.f;
  return p * half_power(rounded) * 2.f;
}

static inline float exp(float x) {
  float clamped = between(-87.33654f, x, 89.f);
  float rounded = clamped * 1.44269504088896341f + kRounder, whole = rounded - kRounder;
  float rest = clamped - whole * 0.693359375f;
  rest = rest + whole * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * rest + 1.3981999507e-3f;
  p = p * rest + 8.3334519073e-3f;
  p = p * rest + 4.1665795894e-2f;
  p = p * rest + 1.6666665459e-1f;
  p = p * rest + 5.0000001201e-1f;
  p = p * rest * rest + rest + 1.f;
  return p * half_power(rounded) * 2.f;
}

static inline float rsqrt(float x) { return 1.f / math::sqrt(x); }
static inline double rsqrt(double x) { return 1. / math::sqrt(x); }
// Rounded once, whether or not products and sums may be fused.
static inline float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
template <class T> static inline T absolute(T x) { return x < 0 ? T(-x) : x; }

// The larger or smaller number; NaN only if both are.
template <class T> static inline T larger(T a, T b) { return (a > b) | (b != b) ? a : b; }
template <class T> static inline T smaller(T a, T b) { return (a < b) | (b != b) ? a : b; }
// NaN if one is.
template <class T> static inline T larger_or_nan(T a, T b) { return (a > b) | (a != a) ? a : b; }
template <class T> static inline T smaller_or_nan(T a, T b) { return (a < b) | (a != a) ? a : b; }

// libdevice's, where the C library has no function of that kind
template <class T> static inline T saturate(T x) { return x > T(0) ? (x < T(1) ? x : T(1)) : T(0); }
template <class T> static inline T divide(T a, T b) { return a / b; }
template <class T> static inline T add(T a, T b) { return a + b; }
template <class T> static inline T subtract(T a, T b) { return a - b; }
template <class T> static inline T multiply(T a, T b) { return a * b; }
template <class T> static inline T reciprocal(T x) { return T(1) / x; }
template <class T> static inline T rcbrt(T x) { return T(1) / math::cbrt(x); }
template <class T> static inline T exp10(T x) { return math::pow(T(10), x); }
template <class T> static inline T sinpi(T x) { return math::sin(T(kPi) * math::fmod(x, T(2))); }
template <class T> static inline T cospi(T x) { return math::cos(T(kPi) * math::fmod(x, T(2))); }
template <class T> static inline T erfinv(T y) {
  double w = -math::log1p(-double(y) * y), x = 0, a = 0.147, t = 2 / (kPi * a) - w / 2;
  x = math::copysign(math::sqrt(math::sqrt(t * t + w / a) - t), double(y));
  if (math::fabs(y) >= 1) return math::fabs(y) == 1 ? math::copysign(T(kInfinity), y) : T(kNan);
  for (int step = 0; step < 3; ++step) x -= (math::erf(x) - y) / ((2 / math::sqrt(kPi)) * math::exp(-x * x));
  return T(y == 0 ? y : x);
}
template <class T> static inline T erfcinv(T y) { return erfinv(T(1) - y); }
template <class T> static inline T erfcx(T x) { return T(math::exp(double(x) * x) * math::erfc(double(x))); }
template <class T> static inline T normcdf(T x) { return T(0.5 * math::erfc(-double(x) * math::sqrt(0.5))); }
template <class T> static inline T normcdfinv(T y) { return T(math::sqrt(2.) * erfinv(2 * double(y) - 1)); }
template <class T> static inline T rhypot(T a, T b) { return T(1) / math::hypot(a, b); }
template <class T> static inline T norm3d(T a, T b, T c) { return math::sqrt(a * a + b * b + c * c); }
template <class T> static inline T rnorm3d(T a, T b, T c) { return T(1) / norm3d(a, b, c); }
template <class T> static inline T norm4d(T a, T b, T c, T d) { return math::sqrt(a * a + b * b + c * c + d * d); }
template <class T> static inline T rnorm4d(T a, T b, T c, T d) { return T(1) / norm4d(a, b, c, d); }
template <class T> static inline int is_finite(T x) { return __builtin_isfinite(x); }
template <class T> static inline int is_infinite(T x) { return __builtin_isinf(x); }
template <class T> static inline int is_nan(T x) { return x != x; }
template <class T> static inline int sign_bit(T x) { return __builtin_signbit(x); }
template <class T> static inline T positive_difference(T a, T b) { return math::fdim(a, b); }
static inline int32_t signed_high_product(int32_t a, int32_t b) { return int32_t((int64_t(a) * b) >> 32); }
static inline int64_t signed_high_product(int64_t a, int64_t b) {
  return int64_t((static_cast<__int128>(a) * b) >> 64);
}
// An unsigned number comes in a signed one of the same bits.
static inline int32_t product_of_24_bits(int32_t a, int32_t b) {
  return int32_t((int64_t(int32_t(uint32_t(a) << 8)) >> 8) * (int64_t(int32_t(uint32_t(b) << 8)) >> 8));
}
static inline int32_t unsigned_product_of_24_bits(int32_t a, int32_t b) {
  return int32_t((uint32_t(a) & 0xffffffu) * (uint32_t(b) & 0xffffffu));
}
static inline int32_t mean(int32_t a, int32_t b) { return int32_t((int64_t(a) + b) >> 1); }
static inline int32_t mean_rounded_up(int32_t a, int32_t b) { return int32_t((int64_t(a) + b + 1) >> 1); }
static inline int32_t unsigned_mean(int32_t a, int32_t b) {
  return int32_t((uint64_t(uint32_t(a)) + uint32_t(b)) >> 1);
}
static inline int32_t unsigned_mean_rounded_up(int32_t a, int32_t b) {
  return int32_t((uint64_t(uint32_t(a)) + uint32_t(b) + 1) >> 1);
}
static inline int32_t sum_of_difference(int32_t a, int32_t b, int32_t c) {
  return int32_t(uint32_t(a < b ? int64_t(b) - a : int64_t(a) - b) + uint32_t(c));
}
static inline int32_t unsigned_sum_of_difference(int32_t a, int32_t b, int32_t c) {
  uint32_t first = uint32_t(a), second = uint32_t(b);
  return int32_t((first < second ? second - first : first - second) + uint32_t(c));
}
static inline int32_t population(int32_t x) { return __builtin_popcount(uint32_t(x)); }
static inline int32_t population(int64_t x) { return __builtin_popcountll(uint64_t(x)); }
static inline int32_t leading_zeros(int32_t x) { return x ? __builtin_clz(uint32_t(x)) : 32; }
static inline int32_t leading_zeros(int64_t x) { return x ? __builtin_clzll(uint64_t(x)) : 64; }
static inline int32_t first_set(int32_t x) { return __builtin_ffs(x); }
static inline int32_t first_set(int64_t x) { return __builtin_ffsll(x); }
static inline int32_t reversed(int32_t x) {
  uint32_t y = uint32_t(x);
  y = (y >> 1 & 0x55555555u) | (y & 0x55555555u) << 1;
  y = (y >> 2 & 0x33333333u) | (y & 0x33333333u) << 2;
  y = (y >> 4 & 0x0f0f0f0fu) | (y & 0x0f0f0f0fu) << 4;
  return int32_t(__builtin_bswap32(y));
}
static inline int64_t reversed(int64_t x) {
  uint64_t low = uint32_t(reversed(int32_t(x))), high = uint32_t(reversed(int32_t(uint64_t(x) >> 32)));
  return int64_t(low << 32 | high);
}

}  // namespace math
