// The C library's mathematics, without C++'s header, which takes longer to compile than most kernels.
#pragma once

namespace math {

static constexpr double kPi = 3.14159265358979323846;
static constexpr float kNan = __builtin_nanf("");
static constexpr float kInfinity = __builtin_inff();

#define MORPH_UNARY(name)                                                \
  static inline float name(float x) { return __builtin_##name##f(x); }   \
  static inline double name(double x) { return __builtin_##name(x); }
#define MORPH_BINARY(name)                                                         \
  static inline float name(float a, float b) { return __builtin_##name##f(a, b); } \
  static inline double name(double a, double b) { return __builtin_##name(a, b); }
#define MORPH_INTEGRAL(type, name)                                      \
  static inline type name(float x) { return __builtin_##name##f(x); }   \
  static inline type name(double x) { return __builtin_##name(x); }

MORPH_UNARY(acos) MORPH_UNARY(acosh) MORPH_UNARY(asin) MORPH_UNARY(asinh) MORPH_UNARY(atan) MORPH_UNARY(atanh)
MORPH_UNARY(cbrt) MORPH_UNARY(ceil) MORPH_UNARY(cos) MORPH_UNARY(cosh) MORPH_UNARY(erf) MORPH_UNARY(erfc)
MORPH_UNARY(expm1) MORPH_UNARY(fabs) MORPH_UNARY(floor) MORPH_UNARY(lgamma) MORPH_UNARY(log) MORPH_UNARY(log10)
MORPH_UNARY(log1p) MORPH_UNARY(log2) MORPH_UNARY(logb) MORPH_UNARY(nearbyint) MORPH_UNARY(round) MORPH_UNARY(sin)
MORPH_UNARY(sinh) MORPH_UNARY(sqrt) MORPH_UNARY(tan) MORPH_UNARY(tanh) MORPH_UNARY(tgamma) MORPH_UNARY(trunc)
MORPH_BINARY(atan2) MORPH_BINARY(copysign) MORPH_BINARY(fdim) MORPH_BINARY(fmod) MORPH_BINARY(hypot)
MORPH_BINARY(nextafter) MORPH_BINARY(pow) MORPH_BINARY(remainder)
MORPH_INTEGRAL(int, ilogb) MORPH_INTEGRAL(long long, llrint) MORPH_INTEGRAL(long long, llround)
#undef MORPH_UNARY
#undef MORPH_BINARY
#undef MORPH_INTEGRAL

static inline double exp(double x) { return __builtin_exp(x); }
static inline double exp2(double x) { return __builtin_exp2(x); }
static inline float ldexp(float x, int power) { return __builtin_ldexpf(x, power); }
static inline double ldexp(double x, int power) { return __builtin_ldexp(x, power); }
static inline float pow(float x, int power) { return __builtin_powf(x, float(power)); }
static inline double pow(double x, int power) { return __builtin_pow(x, double(power)); }
static inline double j0(double x) { return __builtin_j0(x); }
static inline double j1(double x) { return __builtin_j1(x); }
static inline double y0(double x) { return __builtin_y0(x); }
static inline double y1(double x) { return __builtin_y1(x); }
static inline double jn(int order, double x) { return __builtin_jn(order, x); }
static inline double yn(int order, double x) { return __builtin_yn(order, x); }

// Modified Bessel functions, which C has not: the power series, whose terms have one sign (DLMF 10.25.2).
static inline double modified_bessel(int order, double x) {
  if (__builtin_fabs(x) > 714) return order && x < 0 ? -__builtin_inf() : __builtin_inf();  // more than a double holds
  double term = order ? x / 2 : 1, sum = term;
  for (int k = 1; __builtin_fabs(term) > __builtin_fabs(sum) * 1e-17; k++) sum += term *= x * x / (4.0 * k * (k + order));
  return sum;
}
static inline double cyl_bessel_i0(double x) { return modified_bessel(0, x); }
static inline double cyl_bessel_i1(double x) { return modified_bessel(1, x); }

}  // namespace math
