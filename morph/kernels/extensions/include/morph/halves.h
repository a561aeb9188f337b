// __half and __nv_bfloat16: their arithmetic is float's, rounded to the nearest, even at ties.
#pragma once

#include "morph/atomics.h"
#include "morph/math.h"
#include "morph/types.h"

namespace morph_cuda {

inline unsigned short half_bits(float v) {
  uint32_t f = bits<uint32_t>(v), sign = f >> 16 & 0x8000, magnitude = f & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<unsigned short>(sign | 0x7fff);   // not a number
  if (magnitude >= 0x477ff000) return static_cast<unsigned short>(sign | 0x7c00);  // 65520 and more
  if (magnitude < 0x38800000) {  // subnormal: a half's unit is 2^-24
    float units = bits<float>(magnitude) * 16777216.f;
    return static_cast<unsigned short>(sign | uint32_t(std::nearbyint(units)));
  }
  uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<unsigned short>(sign | ((rounded - 0x38000000) >> 13));
}
inline float half_value(unsigned short h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, magnitude = h & 0x7fff;
  if (magnitude >= 0x7c00) return bits<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude < 0x400) return bits<float>(sign | bits<uint32_t>(float(magnitude) / 16777216.f));
  return bits<float>(sign | ((magnitude << 13) + 0x38000000));
}
inline unsigned short bfloat16_bits(float v) {
  uint32_t f = bits<uint32_t>(v);
  if ((f & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return static_cast<unsigned short>((f + 0x7fff + (f >> 16 & 1)) >> 16);
}
inline float bfloat16_value(unsigned short h) { return bits<float>(uint32_t(h) << 16); }

// A number, and what it lacks, rounded to odd: rounding the result again is as rounding once (Boldo and Melquiond,
// "Emulation of FMA and correctly rounded sums", 2008).
template <class X>
inline float to_odd(X x, X rest = 0) {
  const float near = float(x);
  const X off = X(near) == x ? rest : x - X(near);
  const bool is_even = !(bits<uint32_t>(near) & 1);
  return std::isfinite(x) && is_even && off != 0 ? std::nextafter(near, off > 0 ? INFINITY : -INFINITY) : near;
}
// A number of any type as the float whose rounding to a half is the number's.
template <class T>
inline float to_be_rounded(T x) {
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) return to_odd((long double)x);
  else return to_odd(double(x));
}

}  // namespace morph_cuda

struct __half_raw { unsigned short x; };
struct __half2_raw { unsigned short x, y; };
struct __nv_bfloat16_raw { unsigned short x; };
struct __nv_bfloat162_raw { unsigned short x, y; };

// With torch's flags for nvcc (__CUDA_NO_HALF_CONVERSIONS__ and its kin) the types have neither operators nor
// conversions, so that a program's own do not collide with them.
#if defined(__CUDA_NO_HALF_CONVERSIONS__)
#define MORPH_HALF_CONVERSIONS 0
#else
#define MORPH_HALF_CONVERSIONS 1
#endif
#if defined(__CUDA_NO_BFLOAT16_CONVERSIONS__)
#define MORPH_BFLOAT16_CONVERSIONS 0
#else
#define MORPH_BFLOAT16_CONVERSIONS 1
#endif

struct __half;
struct __nv_bfloat16;
namespace morph_cuda {
template <class T> constexpr bool is_number = std::is_arithmetic_v<T>;
template <class T> constexpr bool is_short = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;
}

#define MORPH_SHORT_FLOAT(H, H2, RAW, RAW2, TO, FROM, CONVERSIONS)                                                   \
  struct alignas(2) H {                                                                                             \
    unsigned short __x;                                                                                             \
    H() = default;                                                                                                  \
    constexpr H(const RAW& raw) : __x(raw.x) {}                                                                     \
    constexpr operator RAW() const { return {__x}; }                                                                \
    template <class T, std::enable_if_t<morph_cuda::is_number<T> && CONVERSIONS, int> = 0>                          \
    H(T v) : __x(morph_cuda::TO(morph_cuda::to_be_rounded(v))) {}                                                                       \
    template <class T, std::enable_if_t<morph_cuda::is_number<T> && !CONVERSIONS, int> = 0>                         \
    explicit H(T v) : __x(morph_cuda::TO(morph_cuda::to_be_rounded(v))) {}                                                              \
    template <class T, std::enable_if_t<morph_cuda::is_short<T> && !std::is_same_v<T, H>, int> = 0>                  \
    explicit H(const T& v) : __x(morph_cuda::TO(static_cast<float>(v))) {}                                          \
    template <class T, std::enable_if_t<std::is_same_v<T, float> && CONVERSIONS, int> = 0>                          \
    operator T() const { return morph_cuda::FROM(__x); }                                                            \
    template <class T, std::enable_if_t<morph_cuda::is_number<T> && !(std::is_same_v<T, float> && CONVERSIONS), int> = 0> \
    explicit operator T() const { return static_cast<T>(morph_cuda::FROM(__x)); }                                   \
  };                                                                                                                \
  struct alignas(4) H2 {                                                                                            \
    H x, y;                                                                                                         \
    H2() = default;                                                                                                 \
    constexpr H2(const H& x, const H& y) : x(x), y(y) {}                                                            \
    constexpr H2(const RAW2& raw) : x(RAW{raw.x}), y(RAW{raw.y}) {}                                                 \
    constexpr operator RAW2() const { return {x.__x, y.__x}; }                                                      \
  };
MORPH_SHORT_FLOAT(__half, __half2, __half_raw, __half2_raw, half_bits, half_value, MORPH_HALF_CONVERSIONS)
MORPH_SHORT_FLOAT(__nv_bfloat16, __nv_bfloat162, __nv_bfloat16_raw, __nv_bfloat162_raw, bfloat16_bits, bfloat16_value,
                  MORPH_BFLOAT16_CONVERSIONS)
#undef MORPH_SHORT_FLOAT
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

inline float __half2float(__half v) { return morph_cuda::half_value(v.__x); }
inline __half __float2half(float v) { return __half(__half_raw{morph_cuda::half_bits(v)}); }
inline float __bfloat162float(__nv_bfloat16 v) { return morph_cuda::bfloat16_value(v.__x); }
inline __nv_bfloat16 __float2bfloat16(float v) { return __nv_bfloat16(__nv_bfloat16_raw{morph_cuda::bfloat16_bits(v)}); }
namespace morph_cuda {
inline float wide(__half v) { return __half2float(v); }
inline float wide(__nv_bfloat16 v) { return __bfloat162float(v); }
template <class H> H narrow(float v);
template <> inline __half narrow<__half>(float v) { return __float2half(v); }
template <> inline __nv_bfloat16 narrow<__nv_bfloat16>(float v) { return __float2bfloat16(v); }

// In double a sum of a product of halves is exact; one of bfloat16 may lack a rest (Knuth's TwoSum).
inline __half fused(__half a, __half b, __half c) {
  return narrow<__half>(to_odd(double(wide(a)) * wide(b) + wide(c)));
}
inline __nv_bfloat16 fused(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  const double product = double(wide(a)) * wide(b), more = wide(c), sum = product + more, part = sum - product;
  return narrow<__nv_bfloat16>(to_odd(sum, (product - (sum - part)) + (more - part)));
}
}  // namespace morph_cuda

#include "morph/halves_functions.h"
#include "morph/halves_pairs.h"
#include "morph/halves_conversions.h"

#if !defined(__CUDA_NO_HALF_OPERATORS__)
MORPH_SHORT_OPERATORS(__half)
#endif
#if !defined(__CUDA_NO_HALF2_OPERATORS__)
MORPH_PAIR_OPERATORS(__half2, __half)
#endif
#if !defined(__CUDA_NO_BFLOAT16_OPERATORS__)
MORPH_SHORT_OPERATORS(__nv_bfloat16)
#endif
#if !defined(__CUDA_NO_BFLOAT162_OPERATORS__)
MORPH_PAIR_OPERATORS(__nv_bfloat162, __nv_bfloat16)
#endif
