// CUDA's mathematics beyond that of C: the intrinsics are as exact as the functions that they approximate.
#pragma once

#include <assert.h>
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
#ifdef __CUDACC__  // the host's compiler lets programs define these themselves
MORPH_UNARY(rsqrtf, float, 1 / std::sqrt(x))
MORPH_UNARY(rsqrt, float, 1 / std::sqrt(x))
MORPH_UNARY(rsqrt, double, 1 / std::sqrt(x))
#endif
MORPH_UNARY(rcbrtf, float, 1 / std::cbrt(x))
MORPH_UNARY(rcbrt, double, 1 / std::cbrt(x))
MORPH_UNARY(sinpif, float, float(std::sin(M_PI * std::remainder(double(x), 2.0))))
MORPH_UNARY(cospif, float, float(std::cos(M_PI * std::remainder(double(x), 2.0))))
MORPH_UNARY(sinpi, double, std::sin(M_PI * std::remainder(x, 2.0)))
MORPH_UNARY(cospi, double, std::cos(M_PI * std::remainder(x, 2.0)))
MORPH_BINARY(__powf, float, std::pow(x, y))
MORPH_BINARY(__fdividef, float, x / y)
MORPH_BINARY(fdividef, float, x / y)
MORPH_BINARY(fdivide, double, x / y)
#undef MORPH_BINARY
#undef MORPH_UNARY
inline void __sincosf(float x, float* s, float* c) { *s = std::sin(x), *c = std::cos(x); }

inline float __int_as_float(int x) { return morph_cuda::bits<float>(x); }
inline int __float_as_int(float x) { return morph_cuda::bits<int>(x); }
inline float __uint_as_float(unsigned x) { return morph_cuda::bits<float>(x); }
inline unsigned __float_as_uint(float x) { return morph_cuda::bits<unsigned>(x); }
inline double __longlong_as_double(long long x) { return morph_cuda::bits<double>(x); }
inline long long __double_as_longlong(double x) { return morph_cuda::bits<long long>(x); }
inline int __double2loint(double x) { return int(morph_cuda::bits<long long>(x)); }
inline int __double2hiint(double x) { return int(morph_cuda::bits<long long>(x) >> 32); }
inline double __hiloint2double(int high, int low) { return morph_cuda::bits<double>((long long)high << 32 | unsigned(low)); }

#ifdef __CUDACC__
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
inline long long llmin(long long a, long long b) { return min(a, b); }
inline long long llmax(long long a, long long b) { return max(a, b); }
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
#endif

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

inline void __prof_trigger(int) {}

#define __trap() ::morph_cuda::fail("__trap() was called", __FILE__, __LINE__, __func__)
#define __brkpt() ::morph_cuda::fail("__brkpt() was called", __FILE__, __LINE__, __func__)
#define __builtin_assume(condition) ((void)0)

#include "morph/integers.h"
#include "morph/rounding.h"
#include "morph/special.h"
#ifdef __CUDACC__
#include "morph/dpx.h"
#endif
