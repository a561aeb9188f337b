// The functions of cuda_fp16.h and cuda_bf16.h.
#pragma once

// Of one value: the arithmetic, comparisons and mathematics of both types.
#define MORPH_SHORT_FUNCTIONS(H)                                                                             \
  inline H __hadd(H a, H b) { return morph_cuda::narrow<H>(morph_cuda::wide(a) + morph_cuda::wide(b)); }      \
  inline H __hsub(H a, H b) { return morph_cuda::narrow<H>(morph_cuda::wide(a) - morph_cuda::wide(b)); }      \
  inline H __hmul(H a, H b) { return morph_cuda::narrow<H>(morph_cuda::wide(a) * morph_cuda::wide(b)); }      \
  inline H __hdiv(H a, H b) { return morph_cuda::narrow<H>(morph_cuda::wide(a) / morph_cuda::wide(b)); }      \
  inline H __hadd_rn(H a, H b) { return __hadd(a, b); }                                                      \
  inline H __hsub_rn(H a, H b) { return __hsub(a, b); }                                                      \
  inline H __hmul_rn(H a, H b) { return __hmul(a, b); }                                                      \
  inline H __hfma(H a, H b, H c) {                                                                           \
    return morph_cuda::narrow<H>(std::fma(morph_cuda::wide(a), morph_cuda::wide(b), morph_cuda::wide(c)));   \
  }                                                                                                          \
  inline H __hneg(H a) { return a.__x ^= 0x8000, a; }                                                        \
  inline H __habs(H a) { return a.__x &= 0x7fff, a; }                                                        \
  inline H __hmax(H a, H b) { return morph_cuda::narrow<H>(std::fmax(morph_cuda::wide(a), morph_cuda::wide(b))); } \
  inline H __hmin(H a, H b) { return morph_cuda::narrow<H>(std::fmin(morph_cuda::wide(a), morph_cuda::wide(b))); } \
  inline bool __hisnan(H a) { return std::isnan(morph_cuda::wide(a)); }                                      \
  inline int __hisinf(H a) { return std::isinf(morph_cuda::wide(a)) ? (a.__x >> 15 ? -1 : 1) : 0; }          \
  inline bool __heq(H a, H b) { return morph_cuda::wide(a) == morph_cuda::wide(b); }                         \
  inline bool __hne(H a, H b) { return morph_cuda::wide(a) != morph_cuda::wide(b); }                         \
  inline bool __hlt(H a, H b) { return morph_cuda::wide(a) < morph_cuda::wide(b); }                          \
  inline bool __hle(H a, H b) { return morph_cuda::wide(a) <= morph_cuda::wide(b); }                         \
  inline bool __hgt(H a, H b) { return morph_cuda::wide(a) > morph_cuda::wide(b); }                          \
  inline bool __hge(H a, H b) { return morph_cuda::wide(a) >= morph_cuda::wide(b); }                         \
  MORPH_SHORT_UNARY(H, hexp, std::exp)                                                                       \
  MORPH_SHORT_UNARY(H, hexp2, std::exp2)                                                                     \
  MORPH_SHORT_UNARY(H, hlog, std::log)                                                                       \
  MORPH_SHORT_UNARY(H, hlog2, std::log2)                                                                     \
  MORPH_SHORT_UNARY(H, hlog10, std::log10)                                                                   \
  MORPH_SHORT_UNARY(H, hsqrt, std::sqrt)                                                                     \
  MORPH_SHORT_UNARY(H, hrsqrt, rsqrtf)                                                                       \
  MORPH_SHORT_UNARY(H, hrcp, __frcp_rn)                                                                      \
  MORPH_SHORT_UNARY(H, hsin, std::sin)                                                                       \
  MORPH_SHORT_UNARY(H, hcos, std::cos)                                                                       \
  MORPH_SHORT_UNARY(H, htanh, std::tanh)                                                                     \
  MORPH_SHORT_UNARY(H, hfloor, std::floor)                                                                   \
  MORPH_SHORT_UNARY(H, hceil, std::ceil)                                                                     \
  MORPH_SHORT_UNARY(H, htrunc, std::trunc)                                                                   \
  MORPH_SHORT_UNARY(H, hrint, std::nearbyint)                                                                \
  inline H atomicAdd(H* p, H v) { return morph_cuda::update(p, [v](H old) { return __hadd(old, v); }); }
#define MORPH_SHORT_UNARY(H, NAME, F) \
  inline H NAME(H a) { return morph_cuda::narrow<H>(F(morph_cuda::wide(a))); }

// Of a pair: each function of one value, by its parts.
#define MORPH_PAIR_BINARY(H2, NAME, F) \
  inline H2 NAME(H2 a, H2 b) { return {F(a.x, b.x), F(a.y, b.y)}; }
#define MORPH_PAIR_UNARY(H2, NAME, F) \
  inline H2 NAME(H2 a) { return {F(a.x), F(a.y)}; }
#define MORPH_PAIR_COMPARISON(H2, H, NAME)                                                                  \
  inline H2 __##NAME##2(H2 a, H2 b) {                                                                       \
    return {morph_cuda::narrow<H>(__##NAME(a.x, b.x)), morph_cuda::narrow<H>(__##NAME(a.y, b.y))};          \
  }                                                                                                         \
  inline bool __hb##NAME##2(H2 a, H2 b) { return __##NAME(a.x, b.x) && __##NAME(a.y, b.y); }
#define MORPH_PAIR_FUNCTIONS(H2, H)                                                                         \
  MORPH_PAIR_BINARY(H2, __hadd2, __hadd)                                                                    \
  MORPH_PAIR_BINARY(H2, __hsub2, __hsub)                                                                    \
  MORPH_PAIR_BINARY(H2, __hmul2, __hmul)                                                                    \
  MORPH_PAIR_BINARY(H2, __h2div, __hdiv)                                                                    \
  MORPH_PAIR_BINARY(H2, __hmax2, __hmax)                                                                    \
  MORPH_PAIR_BINARY(H2, __hmin2, __hmin)                                                                    \
  MORPH_PAIR_UNARY(H2, __hneg2, __hneg)                                                                     \
  MORPH_PAIR_UNARY(H2, __habs2, __habs)                                                                     \
  MORPH_PAIR_UNARY(H2, h2exp, hexp)                                                                         \
  MORPH_PAIR_UNARY(H2, h2exp2, hexp2)                                                                       \
  MORPH_PAIR_UNARY(H2, h2log, hlog)                                                                         \
  MORPH_PAIR_UNARY(H2, h2sqrt, hsqrt)                                                                       \
  MORPH_PAIR_UNARY(H2, h2rsqrt, hrsqrt)                                                                     \
  MORPH_PAIR_UNARY(H2, h2rcp, hrcp)                                                                         \
  MORPH_PAIR_COMPARISON(H2, H, heq)                                                                         \
  MORPH_PAIR_COMPARISON(H2, H, hne)                                                                         \
  MORPH_PAIR_COMPARISON(H2, H, hlt)                                                                         \
  MORPH_PAIR_COMPARISON(H2, H, hle)                                                                         \
  MORPH_PAIR_COMPARISON(H2, H, hgt)                                                                         \
  MORPH_PAIR_COMPARISON(H2, H, hge)                                                                         \
  inline H2 __hfma2(H2 a, H2 b, H2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }            \
  inline H2 atomicAdd(H2* p, H2 v) { return {atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y)}; }               \
  inline H __low2half(H2 v) { return v.x; }                                                                 \
  inline H __high2half(H2 v) { return v.y; }                                                                \
  inline float __low2float(H2 v) { return morph_cuda::wide(v.x); }                                          \
  inline float __high2float(H2 v) { return morph_cuda::wide(v.y); }                                         \
  inline H2 __lowhigh2highlow(H2 v) { return {v.y, v.x}; }                                                  \
  inline H2 __low2half2(H2 v) { return {v.x, v.x}; }                                                        \
  inline H2 __high2half2(H2 v) { return {v.y, v.y}; }                                                       \
  inline H2 __lows2half2(H2 a, H2 b) { return {a.x, b.x}; }                                                 \
  inline H2 __highs2half2(H2 a, H2 b) { return {a.y, b.y}; }

#define MORPH_SHORT_OPERATORS(H)                                                        \
  inline H operator+(const H& a, const H& b) { return __hadd(a, b); }                   \
  inline H operator-(const H& a, const H& b) { return __hsub(a, b); }                   \
  inline H operator*(const H& a, const H& b) { return __hmul(a, b); }                   \
  inline H operator/(const H& a, const H& b) { return __hdiv(a, b); }                   \
  inline H operator+(const H& a) { return a; }                                          \
  inline H operator-(const H& a) { return __hneg(a); }                                  \
  inline H& operator+=(H& a, const H& b) { return a = __hadd(a, b); }                   \
  inline H& operator-=(H& a, const H& b) { return a = __hsub(a, b); }                   \
  inline H& operator*=(H& a, const H& b) { return a = __hmul(a, b); }                   \
  inline H& operator/=(H& a, const H& b) { return a = __hdiv(a, b); }                   \
  inline bool operator==(const H& a, const H& b) { return __heq(a, b); }                \
  inline bool operator!=(const H& a, const H& b) { return __hne(a, b); }                \
  inline bool operator<(const H& a, const H& b) { return __hlt(a, b); }                 \
  inline bool operator<=(const H& a, const H& b) { return __hle(a, b); }                \
  inline bool operator>(const H& a, const H& b) { return __hgt(a, b); }                 \
  inline bool operator>=(const H& a, const H& b) { return __hge(a, b); }
#define MORPH_PAIR_OPERATORS(H2, H)                                                     \
  inline H2 operator+(const H2& a, const H2& b) { return __hadd2(a, b); }               \
  inline H2 operator-(const H2& a, const H2& b) { return __hsub2(a, b); }               \
  inline H2 operator*(const H2& a, const H2& b) { return __hmul2(a, b); }               \
  inline H2 operator/(const H2& a, const H2& b) { return __h2div(a, b); }               \
  inline H2 operator-(const H2& a) { return __hneg2(a); }                               \
  inline H2& operator+=(H2& a, const H2& b) { return a = a + b; }                       \
  inline H2& operator-=(H2& a, const H2& b) { return a = a - b; }                       \
  inline H2& operator*=(H2& a, const H2& b) { return a = a * b; }                       \
  inline bool operator==(const H2& a, const H2& b) { return __heq(a.x, b.x) && __heq(a.y, b.y); } \
  inline bool operator!=(const H2& a, const H2& b) { return !(a == b); }

// Conversions that round in a direction: the value that is nearest, or its neighbour on the other side.
namespace morph_cuda {
template <class H>
H neighbour(H v, bool above) {
  if ((v.__x & 0x7fff) == 0) return v.__x = above ? 1 : 0x8001, v;
  return v.__x += (v.__x >> 15 == 0) == above ? 1 : -1, v;
}
template <class H>
H round_down(double exact) {
  H nearest = narrow<H>(float(exact));
  return wide(nearest) > exact ? neighbour(nearest, false) : nearest;
}
template <class H>
H round_up(double exact) {
  H nearest = narrow<H>(float(exact));
  return wide(nearest) < exact ? neighbour(nearest, true) : nearest;
}
template <class H>
H round_to_zero(double exact) { return exact < 0 ? round_up<H>(exact) : round_down<H>(exact); }
}  // namespace morph_cuda

#define MORPH_DIRECTED_FROM(T, FROM, H, TO)                                              \
  inline H __##FROM##2##TO##_rz(T v) { return morph_cuda::round_to_zero<H>(double(v)); } \
  inline H __##FROM##2##TO##_rd(T v) { return morph_cuda::round_down<H>(double(v)); }    \
  inline H __##FROM##2##TO##_ru(T v) { return morph_cuda::round_up<H>(double(v)); }
#define MORPH_DIRECTED(H, TO)                \
  MORPH_DIRECTED_FROM(float, float, H, TO)   \
  MORPH_DIRECTED_FROM(int, int, H, TO)       \
  MORPH_DIRECTED_FROM(unsigned, uint, H, TO)

// Conversions to other types, and between single values and pairs.
#define MORPH_SHORT_CONVERSIONS(H, NAME)                                                                      \
  inline H __float2##NAME##_rn(float v) { return __float2##NAME(v); }                                         \
  inline H __double2##NAME(double v) { return __float2##NAME(float(v)); }                                     \
  inline H __int2##NAME##_rn(int v) { return __float2##NAME(float(v)); }                                      \
  inline H __uint2##NAME##_rn(unsigned v) { return __float2##NAME(float(v)); }                                \
  inline int __##NAME##2int_rn(H v) { return __float2int_rn(morph_cuda::wide(v)); }                           \
  inline int __##NAME##2int_rz(H v) { return __float2int_rz(morph_cuda::wide(v)); }                           \
  inline H __ushort_as_##NAME(unsigned short v) { return H(H##_raw{v}); }                                     \
  inline H __short_as_##NAME(short v) { return __ushort_as_##NAME(static_cast<unsigned short>(v)); }          \
  inline unsigned short __##NAME##_as_ushort(H v) { return v.__x; }                                           \
  inline short __##NAME##_as_short(H v) { return static_cast<short>(v.__x); }                                 \
  inline H##2 __floats2##NAME##2_rn(float a, float b) { return {__float2##NAME(a), __float2##NAME(b)}; }      \
  inline H##2 __float2##NAME##2_rn(float v) { return __floats2##NAME##2_rn(v, v); }                           \
  inline H##2 __float22##NAME##2_rn(float2 v) { return __floats2##NAME##2_rn(v.x, v.y); }                     \
  inline float2 __##NAME##22float2(H##2 v) { return {morph_cuda::wide(v.x), morph_cuda::wide(v.y)}; }         \
  inline H##2 __##NAME##2##NAME##2(H v) { return {v, v}; }                                                    \
  inline H##2 __halves2##NAME##2(H a, H b) { return {a, b}; }                                                 \
  inline H##2 make_##NAME##2(H a, H b) { return {a, b}; }

MORPH_SHORT_FUNCTIONS(__half)
MORPH_SHORT_FUNCTIONS(__nv_bfloat16)
MORPH_PAIR_FUNCTIONS(__half2, __half)
MORPH_PAIR_FUNCTIONS(__nv_bfloat162, __nv_bfloat16)
MORPH_DIRECTED(__half, half)
MORPH_DIRECTED(__nv_bfloat16, bfloat16)
MORPH_SHORT_CONVERSIONS(__half, half)
MORPH_SHORT_CONVERSIONS(__nv_bfloat16, bfloat16)

inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
