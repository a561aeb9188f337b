// The functions of cuda_fp16.h and cuda_bf16.h, of one value.
#pragma once

namespace morph_cuda {
template <class H>
inline H saturated(H v) { return narrow<H>(__saturatef(wide(v))); }
// Of negative numbers 0, as PTX's .relu.
template <class H>
inline H rectified(H v) { return narrow<H>(wide(v) <= 0 ? 0.f : wide(v)); }
template <class H>
inline bool is_ordered(H a, H b) { return wide(a) == wide(a) && wide(b) == wide(b); }
// Of a number and NaN the number; -0 is below +0.
template <class H>
inline H larger(H a, H b) {
  if (!is_ordered(a, b)) return wide(a) == wide(a) ? a : wide(b) == wide(b) ? b : narrow<H>(NAN);
  return wide(a) > wide(b) || (wide(a) == wide(b) && a.__x >> 15 == 0) ? a : b;
}
template <class H>
inline H smaller(H a, H b) {
  if (!is_ordered(a, b)) return larger(a, b);
  return wide(a) < wide(b) || (wide(a) == wide(b) && a.__x >> 15 == 1) ? a : b;
}
inline float reciprocal_root(float x) { return float(1 / std::sqrt(double(x))); }
}  // namespace morph_cuda

// By its name, the function of a float.
#define MORPH_FUNCTIONS_OF_HALVES(DEFINE, ...)    \
  DEFINE(exp, std::exp, __VA_ARGS__)              \
  DEFINE(exp2, std::exp2, __VA_ARGS__)            \
  DEFINE(exp10, exp10f, __VA_ARGS__)              \
  DEFINE(log, std::log, __VA_ARGS__)              \
  DEFINE(log2, std::log2, __VA_ARGS__)            \
  DEFINE(log10, std::log10, __VA_ARGS__)          \
  DEFINE(sqrt, std::sqrt, __VA_ARGS__)            \
  DEFINE(rsqrt, morph_cuda::reciprocal_root, __VA_ARGS__) \
  DEFINE(rcp, __frcp_rn, __VA_ARGS__)             \
  DEFINE(sin, std::sin, __VA_ARGS__)              \
  DEFINE(cos, std::cos, __VA_ARGS__)              \
  DEFINE(tanh, std::tanh, __VA_ARGS__)            \
  DEFINE(tanh_approx, std::tanh, __VA_ARGS__)     \
  DEFINE(floor, std::floor, __VA_ARGS__)          \
  DEFINE(ceil, std::ceil, __VA_ARGS__)            \
  DEFINE(trunc, std::trunc, __VA_ARGS__)          \
  DEFINE(rint, std::nearbyint, __VA_ARGS__)
#define MORPH_COMPARISONS_OF_HALVES(DEFINE, ...) \
  DEFINE(eq, ==, __VA_ARGS__)                    \
  DEFINE(ne, !=, __VA_ARGS__)                    \
  DEFINE(lt, <, __VA_ARGS__)                     \
  DEFINE(le, <=, __VA_ARGS__)                    \
  DEFINE(gt, >, __VA_ARGS__)                     \
  DEFINE(ge, >=, __VA_ARGS__)

#define MORPH_SHORT_UNARY(NAME, F, H) \
  inline H h##NAME(H a) { return morph_cuda::narrow<H>(F(morph_cuda::wide(a))); }
// With NaN a comparison is false, and that of __h...u true.
#define MORPH_SHORT_COMPARISON(NAME, SYMBOL, H)                                              \
  inline bool __h##NAME(H a, H b) {                                                          \
    return morph_cuda::is_ordered(a, b) && morph_cuda::wide(a) SYMBOL morph_cuda::wide(b);   \
  }                                                                                          \
  inline bool __h##NAME##u(H a, H b) {                                                       \
    return !morph_cuda::is_ordered(a, b) || morph_cuda::wide(a) SYMBOL morph_cuda::wide(b);  \
  }
#define MORPH_SHORT_ARITHMETIC(NAME, SYMBOL, H)                                                              \
  inline H __h##NAME(H a, H b) { return morph_cuda::narrow<H>(morph_cuda::wide(a) SYMBOL morph_cuda::wide(b)); } \
  inline H __h##NAME##_rn(H a, H b) { return __h##NAME(a, b); }                                              \
  inline H __h##NAME##_sat(H a, H b) { return morph_cuda::saturated(__h##NAME(a, b)); }
#define MORPH_SHORT_FUNCTIONS(H)                                                                             \
  MORPH_SHORT_ARITHMETIC(add, +, H)                                                                          \
  MORPH_SHORT_ARITHMETIC(sub, -, H)                                                                          \
  MORPH_SHORT_ARITHMETIC(mul, *, H)                                                                          \
  inline H __hdiv(H a, H b) { return morph_cuda::narrow<H>(morph_cuda::wide(a) / morph_cuda::wide(b)); }      \
  inline H __hfma(H a, H b, H c) { return morph_cuda::fused(a, b, c); }                                      \
  inline H __hfma_sat(H a, H b, H c) { return morph_cuda::saturated(__hfma(a, b, c)); }                      \
  inline H __hfma_relu(H a, H b, H c) { return morph_cuda::rectified(__hfma(a, b, c)); }                     \
  inline H __hneg(H a) { return a.__x ^= 0x8000, a; }                                                        \
  inline H __habs(H a) { return a.__x &= 0x7fff, a; }                                                        \
  inline H __hmax(H a, H b) { return morph_cuda::larger(a, b); }                                             \
  inline H __hmin(H a, H b) { return morph_cuda::smaller(a, b); }                                            \
  inline H __hmax_nan(H a, H b) { return morph_cuda::is_ordered(a, b) ? __hmax(a, b) : morph_cuda::narrow<H>(NAN); } \
  inline H __hmin_nan(H a, H b) { return morph_cuda::is_ordered(a, b) ? __hmin(a, b) : morph_cuda::narrow<H>(NAN); } \
  inline bool __hisnan(H a) { return std::isnan(morph_cuda::wide(a)); }                                      \
  inline int __hisinf(H a) { return std::isinf(morph_cuda::wide(a)) ? (a.__x >> 15 ? -1 : 1) : 0; }          \
  MORPH_COMPARISONS_OF_HALVES(MORPH_SHORT_COMPARISON, H)                                                     \
  MORPH_FUNCTIONS_OF_HALVES(MORPH_SHORT_UNARY, H)                                                            \
  inline H atomicAdd(H* p, H v) { return morph_cuda::update(p, [v](H old) { return __hadd(old, v); }); }
MORPH_SHORT_FUNCTIONS(__half)
MORPH_SHORT_FUNCTIONS(__nv_bfloat16)

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
  inline H& operator++(H& a) { return a = __hadd(a, morph_cuda::narrow<H>(1.f)); }      \
  inline H& operator--(H& a) { return a = __hsub(a, morph_cuda::narrow<H>(1.f)); }      \
  inline H operator++(H& a, int) { const H before = a; return ++a, before; }            \
  inline H operator--(H& a, int) { const H before = a; return --a, before; }            \
  inline bool operator==(const H& a, const H& b) { return __heq(a, b); }                \
  inline bool operator!=(const H& a, const H& b) { return __hneu(a, b); }               \
  inline bool operator<(const H& a, const H& b) { return __hlt(a, b); }                 \
  inline bool operator<=(const H& a, const H& b) { return __hle(a, b); }                \
  inline bool operator>(const H& a, const H& b) { return __hgt(a, b); }                 \
  inline bool operator>=(const H& a, const H& b) { return __hge(a, b); }
