// CUDA's mathematics beyond that of C: the intrinsics are as exact as the functions that they approximate.
#pragma once

#include <math.h>  // unlike <cmath>, with the overloads for float in the global namespace: abs(-0.5f) is 0.5
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;

namespace morph_cuda {

template <class To, class From>
inline To bits(From v) {
  static_assert(sizeof(To) == sizeof(From), "a value has as many bits as it has");
  To r;
  std::memcpy(&r, &v, sizeof r);
  return r;
}
// To an integer, as PTX's cvt does: out of range is the nearest integer; NaN is 0 from float to 32 bits and
// less, else the number of the highest bit (PTX ISA, "Integer Notes" of cvt).
template <class To, class From>
constexpr To saturated(From v) {
  using Limits = std::numeric_limits<To>;
  constexpr From beyond = From(Limits::max() / 2 + 1) * 2;
  if (v >= From(Limits::min()) && v < beyond) return To(v);
  if (v != v) return sizeof(From) < 8 && sizeof(To) < 8 ? To(0) : std::is_signed_v<To> ? Limits::min() : To(Limits::max() / 2 + 1);
  return v < 0 ? Limits::min() : Limits::max();
}
// A cast to an integer type. To 8 and 16 bits leads by 32, whose lowest remain: as nvcc 13 compiles it for an H100.
template <class To, class From>
constexpr To converted(const From& v) {
  if constexpr (std::is_class_v<From> && sizeof(From) == 2 && std::is_convertible_v<From, float>) {
    return converted<To>(float(v));  // half, bfloat16
  } else if constexpr (!std::is_floating_point_v<From>) {
    return (To)v;
  } else if constexpr (sizeof(To) < 4) {
    return To(saturated<std::conditional_t<std::is_signed_v<To>, int, unsigned>>(v));
  } else {
    return saturated<To>(v);
  }
}
[[noreturn]] void fail(const char* what, const char* file, unsigned line, const char* function);

}  // namespace morph_cuda

#define MORPH_UNARY(NAME, T, RESULT) \
  inline T NAME(T x) { return RESULT; }
#define MORPH_BINARY(NAME, T, RESULT) \
  inline T NAME(T x, T y) { return RESULT; }
MORPH_UNARY(__expf, float, std::exp(x))
MORPH_UNARY(__exp10f, float, std::pow(10.f, x))
MORPH_UNARY(exp10f, float, std::pow(10.f, x))
MORPH_UNARY(__logf, float, std::log(x))
MORPH_UNARY(__log2f, float, std::log2(x))
MORPH_UNARY(__log10f, float, std::log10(x))
MORPH_UNARY(__sinf, float, std::sin(x))
MORPH_UNARY(__cosf, float, std::cos(x))
MORPH_UNARY(__tanf, float, std::tan(x))
MORPH_UNARY(__tanhf, float, std::tanh(x))
MORPH_UNARY(__saturatef, float, x > 0 ? (x < 1 ? x : 1.f) : 0.f)
MORPH_UNARY(__frcp_rn, float, 1 / x)
MORPH_UNARY(__frcp_rd, float, 1 / x)
MORPH_UNARY(__frcp_ru, float, 1 / x)
MORPH_UNARY(__frcp_rz, float, 1 / x)
MORPH_UNARY(__fsqrt_rn, float, std::sqrt(x))
MORPH_UNARY(__frsqrt_rn, float, 1 / std::sqrt(x))
MORPH_UNARY(rsqrtf, float, 1 / std::sqrt(x))
MORPH_UNARY(rsqrt, float, 1 / std::sqrt(x))
MORPH_UNARY(rsqrt, double, 1 / std::sqrt(x))
MORPH_UNARY(rcbrtf, float, 1 / std::cbrt(x))
MORPH_UNARY(rcbrt, double, 1 / std::cbrt(x))
MORPH_UNARY(sinpif, float, float(std::sin(M_PI * std::remainder(double(x), 2.0))))
MORPH_UNARY(cospif, float, float(std::cos(M_PI * std::remainder(double(x), 2.0))))
MORPH_UNARY(sinpi, double, std::sin(M_PI * std::remainder(x, 2.0)))
MORPH_UNARY(cospi, double, std::cos(M_PI * std::remainder(x, 2.0)))
MORPH_UNARY(normcdff, float, 0.5f * std::erfc(-x * float(M_SQRT1_2)))
MORPH_UNARY(normcdf, double, 0.5 * std::erfc(-x * M_SQRT1_2))
MORPH_UNARY(erfcxf, float, float(std::exp(double(x) * x) * std::erfc(double(x))))
MORPH_UNARY(__drcp_rn, double, 1 / x)
MORPH_UNARY(__dsqrt_rn, double, std::sqrt(x))
MORPH_BINARY(__powf, float, std::pow(x, y))
MORPH_BINARY(__fdividef, float, x / y)
MORPH_BINARY(fdividef, float, x / y)
MORPH_BINARY(__fadd_rn, float, x + y)
MORPH_BINARY(__fsub_rn, float, x - y)
MORPH_BINARY(__fmul_rn, float, x* y)
MORPH_BINARY(__fdiv_rn, float, x / y)
MORPH_BINARY(__dadd_rn, double, x + y)
MORPH_BINARY(__dsub_rn, double, x - y)
MORPH_BINARY(__dmul_rn, double, x* y)
MORPH_BINARY(__ddiv_rn, double, x / y)
MORPH_BINARY(__mul24, int, int(int64_t(x << 8 >> 8) * (y << 8 >> 8)))
MORPH_BINARY(__mulhi, int, int(int64_t(x) * y >> 32))
MORPH_BINARY(__umulhi, unsigned, unsigned(uint64_t(x) * y >> 32))
MORPH_BINARY(__umul64hi, unsigned long long, (unsigned long long)((unsigned __int128)x * y >> 64))
MORPH_BINARY(__mul64hi, long long, (long long)((__int128)x * y >> 64))
MORPH_BINARY(__hadd, int, int((int64_t(x) + y) >> 1))
MORPH_BINARY(__rhadd, int, int((int64_t(x) + y + 1) >> 1))
#undef MORPH_BINARY
#undef MORPH_UNARY
inline unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffff) * (y & 0xffffff); }
inline unsigned __sad(int x, int y, unsigned z) { return unsigned(std::abs(int64_t(x) - y)) + z; }
inline unsigned __usad(unsigned x, unsigned y, unsigned z) { return (x > y ? x - y : y - x) + z; }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline double __fma_rn(double x, double y, double z) { return std::fma(x, y, z); }
inline void __sincosf(float x, float* s, float* c) { *s = std::sin(x), *c = std::cos(x); }
inline void sincospif(float x, float* s, float* c) { *s = sinpif(x), *c = cospif(x); }
inline float norm3df(float x, float y, float z) { return std::hypot(x, y, z); }
inline double norm3d(double x, double y, double z) { return std::hypot(x, y, z); }
inline float rnorm3df(float x, float y, float z) { return 1 / std::hypot(x, y, z); }
inline float rhypotf(float x, float y) { return 1 / std::hypot(x, y); }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
  return r;
}
inline unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) r |= unsigned(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return r;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return unsigned(((uint64_t(high) << 32 | low) << (by & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return unsigned((uint64_t(high) << 32 | low) >> (by & 31));
}
// By at most 32.
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned by) {
  return by < 32 ? __funnelshift_l(low, high, by) : low;
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned by) {
  return by < 32 ? __funnelshift_r(low, high, by) : high;
}
inline int __dp4a(int a, int b, int sum) {
  for (int i = 0; i < 4; i++) sum += int(int8_t(a >> 8 * i)) * int(int8_t(b >> 8 * i));
  return sum;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  for (int i = 0; i < 4; i++) sum += (a >> 8 * i & 0xff) * (b >> 8 * i & 0xff);
  return sum;
}

inline float __int_as_float(int x) { return morph_cuda::bits<float>(x); }
inline int __float_as_int(float x) { return morph_cuda::bits<int>(x); }
inline float __uint_as_float(unsigned x) { return morph_cuda::bits<float>(x); }
inline unsigned __float_as_uint(float x) { return morph_cuda::bits<unsigned>(x); }
inline double __longlong_as_double(long long x) { return morph_cuda::bits<double>(x); }
inline long long __double_as_longlong(double x) { return morph_cuda::bits<long long>(x); }
inline int __double2loint(double x) { return int(morph_cuda::bits<long long>(x)); }
inline int __double2hiint(double x) { return int(morph_cuda::bits<long long>(x) >> 32); }
inline double __hiloint2double(int high, int low) { return morph_cuda::bits<double>((long long)high << 32 | unsigned(low)); }

// Conversions to integers by each rounding; they saturate.
#define MORPH_ROUNDED(NAME, FROM, TO)                                                                  \
  inline TO NAME##_rn(FROM x) { return morph_cuda::saturated<TO>(std::nearbyint(x)); }                 \
  inline TO NAME##_rz(FROM x) { return morph_cuda::saturated<TO>(std::trunc(x)); }                     \
  inline TO NAME##_rd(FROM x) { return morph_cuda::saturated<TO>(std::floor(x)); }                     \
  inline TO NAME##_ru(FROM x) { return morph_cuda::saturated<TO>(std::ceil(x)); }
MORPH_ROUNDED(__float2int, float, int)
MORPH_ROUNDED(__float2uint, float, unsigned)
MORPH_ROUNDED(__float2ll, float, long long)
MORPH_ROUNDED(__float2ull, float, unsigned long long)
MORPH_ROUNDED(__double2int, double, int)
MORPH_ROUNDED(__double2uint, double, unsigned)
MORPH_ROUNDED(__double2ll, double, long long)
MORPH_ROUNDED(__double2ull, double, unsigned long long)
#undef MORPH_ROUNDED
inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }
inline float __ll2float_rn(long long x) { return float(x); }
inline double __int2double_rn(int x) { return double(x); }
inline double __ll2double_rn(long long x) { return double(x); }
inline float __double2float_rn(double x) { return float(x); }

// The numbers of C, as overloads for mixed types.
#define MORPH_EXTREMA(T)                                     \
  inline T min(T a, T b) { return b < a ? b : a; }           \
  inline T max(T a, T b) { return a < b ? b : a; }
MORPH_EXTREMA(int)
MORPH_EXTREMA(unsigned)
MORPH_EXTREMA(long)
MORPH_EXTREMA(unsigned long)
MORPH_EXTREMA(long long)
MORPH_EXTREMA(unsigned long long)
#undef MORPH_EXTREMA
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }
template <class A, class B>
using morph_mixed = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B> && !std::is_same_v<A, B>,
                                     std::common_type_t<A, B>>;
template <class A, class B> inline morph_mixed<A, B> min(A a, B b) { return min(morph_mixed<A, B>(a), morph_mixed<A, B>(b)); }
template <class A, class B> inline morph_mixed<A, B> max(A a, B b) { return max(morph_mixed<A, B>(a), morph_mixed<A, B>(b)); }
inline unsigned umin(unsigned a, unsigned b) { return min(a, b); }
inline unsigned umax(unsigned a, unsigned b) { return max(a, b); }

// Loads and stores with a hint for the caches.
#define MORPH_LOAD(NAME) \
  template <class T> inline T NAME(const T* p) { return *p; }
MORPH_LOAD(__ldg)
MORPH_LOAD(__ldca)
MORPH_LOAD(__ldcg)
MORPH_LOAD(__ldcs)
MORPH_LOAD(__ldcv)
MORPH_LOAD(__ldlu)
#undef MORPH_LOAD
#define MORPH_STORE(NAME) \
  template <class T> inline void NAME(T* p, std::common_type_t<T> v) { *p = v; }
MORPH_STORE(__stcg)
MORPH_STORE(__stcs)
MORPH_STORE(__stwb)
MORPH_STORE(__stwt)
#undef MORPH_STORE

inline long long clock64() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

#define __trap() ::morph_cuda::fail("__trap() was called", __FILE__, __LINE__, __func__)
#define __brkpt() ::morph_cuda::fail("__brkpt() was called", __FILE__, __LINE__, __func__)
#define __builtin_assume(condition) ((void)0)
