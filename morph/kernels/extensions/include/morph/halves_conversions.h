// The conversions of cuda_fp16.h and cuda_bf16.h.
#pragma once

// Those that round in a direction: the value that is nearest, or its neighbour on the other side.
namespace morph_cuda {
template <class H>
H neighbour(H v, bool above) {
  if ((v.__x & 0x7fff) == 0) return v.__x = above ? 1 : 0x8001, v;
  return v.__x += (v.__x >> 15 == 0) == above ? 1 : -1, v;
}
template <class H>
H round_down(long double exact) {
  H nearest = narrow<H>(float(exact));
  return wide(nearest) > exact ? neighbour(nearest, false) : nearest;
}
template <class H>
H round_up(long double exact) {
  H nearest = narrow<H>(float(exact));
  return wide(nearest) < exact ? neighbour(nearest, true) : nearest;
}
template <class H>
H round_to_zero(long double exact) { return exact < 0 ? round_up<H>(exact) : round_down<H>(exact); }
}  // namespace morph_cuda

#define MORPH_FROM(T, FROM, H, TO)                                                       \
  inline H __##FROM##2##TO##_rz(T v) { return morph_cuda::round_to_zero<H>(v); }         \
  inline H __##FROM##2##TO##_rd(T v) { return morph_cuda::round_down<H>(v); }            \
  inline H __##FROM##2##TO##_ru(T v) { return morph_cuda::round_up<H>(v); }
#define MORPH_INTEGER(T, NAME, H, OF)                                                                              \
  MORPH_FROM(T, NAME, H, OF)                                                                                      \
  inline H __##NAME##2##OF##_rn(T v) { return morph_cuda::narrow<H>(morph_cuda::to_be_rounded(v)); }                   \
  inline T __##OF##2##NAME##_rn(H v) { return morph_cuda::saturated<T>(std::nearbyint(morph_cuda::wide(v))); }     \
  inline T __##OF##2##NAME##_rz(H v) { return morph_cuda::saturated<T>(std::trunc(morph_cuda::wide(v))); }         \
  inline T __##OF##2##NAME##_rd(H v) { return morph_cuda::saturated<T>(std::floor(morph_cuda::wide(v))); }         \
  inline T __##OF##2##NAME##_ru(H v) { return morph_cuda::saturated<T>(std::ceil(morph_cuda::wide(v))); }
#define MORPH_SHORT_CONVERSIONS(H, NAME)                                                                      \
  MORPH_FROM(float, float, H, NAME)                                                                           \
  MORPH_INTEGER(int, int, H, NAME)                                                                            \
  MORPH_INTEGER(unsigned, uint, H, NAME)                                                                      \
  MORPH_INTEGER(long long, ll, H, NAME)                                                                       \
  MORPH_INTEGER(unsigned long long, ull, H, NAME)                                                             \
  MORPH_INTEGER(short, short, H, NAME)                                                                        \
  MORPH_INTEGER(unsigned short, ushort, H, NAME)                                                              \
  inline signed char __##NAME##2char_rz(H v) { return morph_cuda::saturated<signed char>(morph_cuda::wide(v)); } \
  inline unsigned char __##NAME##2uchar_rz(H v) { return morph_cuda::saturated<unsigned char>(morph_cuda::wide(v)); } \
  inline H __float2##NAME##_rn(float v) { return __float2##NAME(v); }                                         \
  inline H __double2##NAME(double v) { return morph_cuda::narrow<H>(morph_cuda::to_be_rounded(v)); }          \
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
MORPH_SHORT_CONVERSIONS(__half, half)
MORPH_SHORT_CONVERSIONS(__nv_bfloat16, bfloat16)
#undef MORPH_SHORT_CONVERSIONS
#undef MORPH_INTEGER
#undef MORPH_FROM

#define CUDART_ZERO_FP16 __ushort_as_half(0x0000)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00)
#define CUDART_INF_FP16 __ushort_as_half(0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fff)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80)
#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7fff)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7f)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001)
