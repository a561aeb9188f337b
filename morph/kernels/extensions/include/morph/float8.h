// Numbers of eight bits: four of exponent and three of mantissa, or five and two (CUDA Math API, "FP8 Intrinsics").
#pragma once

#include <cstdint>

#include "morph/halves.h"
#include "ptx_numbers.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
typedef enum { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturates, __nv_fp8_interpretation_t kind) {
  bool most = saturates == __NV_SATFINITE;
  auto code = kind == __NV_E4M3 ? morph_ptx::narrowed<4, 3>(x, morph_ptx::kNearest, most)
                                : morph_ptx::narrowed<5, 2>(x, morph_ptx::kNearest, most);
  return __nv_fp8_storage_t(code);
}
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturates, __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double_to_fp8(x, saturates, kind);
}
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturates, __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double_to_fp8(morph_cuda::half_value(x.x), saturates, kind);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturates,
                                                      __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double_to_fp8(morph_cuda::bfloat16_value(x.x), saturates, kind);
}

namespace morph_cuda {

inline float fp8_value(__nv_fp8_storage_t code, __nv_fp8_interpretation_t kind) {
  return float(kind == __NV_E4M3 ? morph_ptx::widened<4, 3>(code) : morph_ptx::widened<5, 2>(code));
}
inline __nv_fp8x2_storage_t fp8_pair(__nv_fp8_storage_t low, __nv_fp8_storage_t high) {
  return __nv_fp8x2_storage_t(low | high << 8);
}
inline __nv_fp8x2_storage_t fp8_pair_of(double low, double high, __nv_saturation_t saturates, __nv_fp8_interpretation_t kind) {
  return fp8_pair(__nv_cvt_double_to_fp8(low, saturates, kind), __nv_cvt_double_to_fp8(high, saturates, kind));
}

}  // namespace morph_cuda

inline __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 x, __nv_saturation_t saturates, __nv_fp8_interpretation_t kind) {
  return morph_cuda::fp8_pair_of(x.x, x.y, saturates, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturates, __nv_fp8_interpretation_t kind) {
  return morph_cuda::fp8_pair_of(x.x, x.y, saturates, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw x, __nv_saturation_t saturates, __nv_fp8_interpretation_t kind) {
  return morph_cuda::fp8_pair_of(morph_cuda::half_value(x.x), morph_cuda::half_value(x.y), saturates, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162_raw x, __nv_saturation_t saturates,
                                                           __nv_fp8_interpretation_t kind) {
  return morph_cuda::fp8_pair_of(morph_cuda::bfloat16_value(x.x), morph_cuda::bfloat16_value(x.y), saturates, kind);
}
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  return {morph_cuda::half_bits(morph_cuda::fp8_value(x, kind))};
}
inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t kind) {
  return {__nv_cvt_fp8_to_halfraw(x & 255, kind).x, __nv_cvt_fp8_to_halfraw(x >> 8, kind).x};
}

// What a number becomes saturates, to the nearest.
#define MORPH_FLOAT8(NAME, KIND)                                                                                          \
  struct alignas(1) __nv_fp8_##NAME {                                                                                      \
    __nv_fp8_storage_t __x;                                                                                                \
    __nv_fp8_##NAME() = default;                                                                                           \
    explicit __nv_fp8_##NAME(__half x) : __nv_fp8_##NAME(morph_cuda::half_value(x.__x)) {}                                 \
    explicit __nv_fp8_##NAME(__nv_bfloat16 x) : __nv_fp8_##NAME(morph_cuda::bfloat16_value(x.__x)) {}                      \
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>                                                  \
    explicit __nv_fp8_##NAME(T x) : __x(__nv_cvt_double_to_fp8(double(x), __NV_SATFINITE, KIND)) {}                        \
    explicit operator __half() const { return __half(__nv_cvt_fp8_to_halfraw(__x, KIND)); }                                \
    explicit operator __nv_bfloat16() const { return __float2bfloat16(float(*this)); }                                     \
    explicit operator float() const { return morph_cuda::fp8_value(__x, KIND); }                                           \
    explicit operator double() const { return float(*this); }                                                              \
    explicit operator bool() const { return __x & 127; }                                                                   \
    template <class T, class = std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>, class = void>           \
    explicit operator T() const { return T(morph_ptx::to_whole<T>(double(*this))); }                                       \
  };                                                                                                                       \
  struct alignas(2) __nv_fp8x2_##NAME {                                                                                    \
    __nv_fp8x2_storage_t __x;                                                                                              \
    __nv_fp8x2_##NAME() = default;                                                                                         \
    explicit __nv_fp8x2_##NAME(float2 x) : __x(__nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, KIND)) {}                       \
    explicit __nv_fp8x2_##NAME(double2 x) : __x(__nv_cvt_double2_to_fp8x2(x, __NV_SATFINITE, KIND)) {}                     \
    explicit __nv_fp8x2_##NAME(__half2 x) : __nv_fp8x2_##NAME(__half22float2(x)) {}                                        \
    explicit __nv_fp8x2_##NAME(__nv_bfloat162 x) : __nv_fp8x2_##NAME(__bfloat1622float2(x)) {}                             \
    explicit operator float2() const {                                                                                     \
      return make_float2(morph_cuda::fp8_value(__x & 255, KIND), morph_cuda::fp8_value(__x >> 8, KIND));                   \
    }                                                                                                                      \
    explicit operator __half2() const { return __half2(__nv_cvt_fp8x2_to_halfraw2(__x, KIND)); }                           \
  };                                                                                                                       \
  struct alignas(4) __nv_fp8x4_##NAME {                                                                                    \
    __nv_fp8x4_storage_t __x;                                                                                              \
    __nv_fp8x4_##NAME() = default;                                                                                         \
    explicit __nv_fp8x4_##NAME(float4 x)                                                                                   \
        : __x(morph_cuda::fp8_pair_of(x.x, x.y, __NV_SATFINITE, KIND) |                                                    \
              __nv_fp8x4_storage_t(morph_cuda::fp8_pair_of(x.z, x.w, __NV_SATFINITE, KIND)) << 16) {}                      \
    explicit __nv_fp8x4_##NAME(__half2 low, __half2 high)                                                                  \
        : __x(__nv_fp8x2_##NAME(low).__x | __nv_fp8x4_storage_t(__nv_fp8x2_##NAME(high).__x) << 16) {}                     \
    explicit __nv_fp8x4_##NAME(__nv_bfloat162 low, __nv_bfloat162 high)                                                    \
        : __x(__nv_fp8x2_##NAME(low).__x | __nv_fp8x4_storage_t(__nv_fp8x2_##NAME(high).__x) << 16) {}                     \
    explicit operator float4() const {                                                                                     \
      return make_float4(morph_cuda::fp8_value(__x & 255, KIND), morph_cuda::fp8_value(__x >> 8 & 255, KIND),              \
                         morph_cuda::fp8_value(__x >> 16 & 255, KIND), morph_cuda::fp8_value(__x >> 24, KIND));            \
    }                                                                                                                      \
  };
MORPH_FLOAT8(e4m3, __NV_E4M3)
MORPH_FLOAT8(e5m2, __NV_E5M2)
#undef MORPH_FLOAT8
