// The functions of cuda_fp16.h and cuda_bf16.h, of a pair: each function of one value, by its parts.
#pragma once

#define MORPH_PAIR_BINARY(H2, NAME, F) \
  inline H2 NAME(H2 a, H2 b) { return {F(a.x, b.x), F(a.y, b.y)}; }
#define MORPH_PAIR_TERNARY(H2, NAME, F) \
  inline H2 NAME(H2 a, H2 b, H2 c) { return {F(a.x, b.x, c.x), F(a.y, b.y, c.y)}; }
#define MORPH_PAIR_UNARY(NAME, F, H2) \
  inline H2 h2##NAME(H2 a) { return {h##NAME(a.x), h##NAME(a.y)}; }
#define MORPH_PAIR_COMPARED(NAME, H2, H)                                                                 \
  inline H2 __##NAME##2(H2 a, H2 b) {                                                                    \
    return {morph_cuda::narrow<H>(__##NAME(a.x, b.x)), morph_cuda::narrow<H>(__##NAME(a.y, b.y))};       \
  }                                                                                                      \
  inline unsigned __##NAME##2_mask(H2 a, H2 b) {                                                         \
    return (__##NAME(a.x, b.x) ? 0xffffu : 0) | (__##NAME(a.y, b.y) ? 0xffff0000u : 0);                  \
  }
#define MORPH_PAIR_COMPARISON(NAME, SYMBOL, H2, H)                                                       \
  MORPH_PAIR_COMPARED(h##NAME, H2, H)                                                                    \
  MORPH_PAIR_COMPARED(h##NAME##u, H2, H)                                                                 \
  inline bool __hb##NAME##2(H2 a, H2 b) { return __h##NAME(a.x, b.x) && __h##NAME(a.y, b.y); }           \
  inline bool __hb##NAME##u2(H2 a, H2 b) { return __h##NAME##u(a.x, b.x) && __h##NAME##u(a.y, b.y); }
#define MORPH_PAIR_ARITHMETIC(H2, NAME)                 \
  MORPH_PAIR_BINARY(H2, __h##NAME##2, __h##NAME)        \
  MORPH_PAIR_BINARY(H2, __h##NAME##2_rn, __h##NAME)     \
  MORPH_PAIR_BINARY(H2, __h##NAME##2_sat, __h##NAME##_sat)
#define MORPH_PAIR_FUNCTIONS(H2, H, OF_TWO)                                                                 \
  MORPH_PAIR_ARITHMETIC(H2, add)                                                                            \
  MORPH_PAIR_ARITHMETIC(H2, sub)                                                                            \
  MORPH_PAIR_ARITHMETIC(H2, mul)                                                                            \
  MORPH_PAIR_BINARY(H2, __h2div, __hdiv)                                                                    \
  MORPH_PAIR_BINARY(H2, __hmax2, __hmax)                                                                    \
  MORPH_PAIR_BINARY(H2, __hmin2, __hmin)                                                                    \
  MORPH_PAIR_BINARY(H2, __hmax2_nan, __hmax_nan)                                                            \
  MORPH_PAIR_BINARY(H2, __hmin2_nan, __hmin_nan)                                                            \
  MORPH_PAIR_TERNARY(H2, __hfma2, __hfma)                                                                   \
  MORPH_PAIR_TERNARY(H2, __hfma2_sat, __hfma_sat)                                                           \
  MORPH_PAIR_TERNARY(H2, __hfma2_relu, __hfma_relu)                                                         \
  MORPH_COMPARISONS_OF_HALVES(MORPH_PAIR_COMPARISON, H2, H)                                                 \
  MORPH_FUNCTIONS_OF_HALVES(MORPH_PAIR_UNARY, H2)                                                           \
  inline H2 __hneg2(H2 a) { return {__hneg(a.x), __hneg(a.y)}; }                                            \
  inline H2 __habs2(H2 a) { return {__habs(a.x), __habs(a.y)}; }                                            \
  inline H2 __hisnan2(H2 a) { return {morph_cuda::narrow<H>(__hisnan(a.x)), morph_cuda::narrow<H>(__hisnan(a.y))}; } \
  inline H2 __hcmadd(H2 a, H2 b, H2 c) { /* of complex numbers */                                           \
    return {__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};      \
  }                                                                                                         \
  inline H2 atomicAdd(H2* p, H2 v) { return {atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y)}; }               \
  inline float __low2float(H2 v) { return morph_cuda::wide(v.x); }                                          \
  inline float __high2float(H2 v) { return morph_cuda::wide(v.y); }                                         \
  inline H2 __lowhigh2highlow(H2 v) { return {v.y, v.x}; }                                                  \
  inline H2 __low2##OF_TWO(H2 v) { return {v.x, v.x}; }                                                     \
  inline H2 __high2##OF_TWO(H2 v) { return {v.y, v.y}; }                                                    \
  inline H2 __lows2##OF_TWO(H2 a, H2 b) { return {a.x, b.x}; }                                              \
  inline H2 __highs2##OF_TWO(H2 a, H2 b) { return {a.y, b.y}; }
MORPH_PAIR_FUNCTIONS(__half2, __half, half2)
MORPH_PAIR_FUNCTIONS(__nv_bfloat162, __nv_bfloat16, bfloat162)
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }

// A comparison holds if it does of both parts, != too: pairs that differ in one are neither equal nor unequal.
#define MORPH_PAIR_OPERATORS(H2, H)                                                     \
  inline H2 operator+(const H2& a, const H2& b) { return __hadd2(a, b); }               \
  inline H2 operator-(const H2& a, const H2& b) { return __hsub2(a, b); }               \
  inline H2 operator*(const H2& a, const H2& b) { return __hmul2(a, b); }               \
  inline H2 operator/(const H2& a, const H2& b) { return __h2div(a, b); }               \
  inline H2 operator+(const H2& a) { return a; }                                        \
  inline H2 operator-(const H2& a) { return __hneg2(a); }                               \
  inline H2& operator+=(H2& a, const H2& b) { return a = a + b; }                       \
  inline H2& operator-=(H2& a, const H2& b) { return a = a - b; }                       \
  inline H2& operator*=(H2& a, const H2& b) { return a = a * b; }                       \
  inline H2& operator/=(H2& a, const H2& b) { return a = a / b; }                       \
  inline bool operator==(const H2& a, const H2& b) { return __hbeq2(a, b); }            \
  inline bool operator!=(const H2& a, const H2& b) { return __hbneu2(a, b); }           \
  inline bool operator<(const H2& a, const H2& b) { return __hblt2(a, b); }             \
  inline bool operator<=(const H2& a, const H2& b) { return __hble2(a, b); }            \
  inline bool operator>(const H2& a, const H2& b) { return __hbgt2(a, b); }             \
  inline bool operator>=(const H2& a, const H2& b) { return __hbge2(a, b); }
