// CUDA's functions that C has not: norms, inverses of the error function, Bessel functions.
#pragma once

namespace morph_cuda {
// exp(x * x) * erfc(x); far out by its asymptotic series (Abramowitz and Stegun 7.1.23).
inline double scaled_erfc(double x) {
  if (x < 50) return double(std::exp((long double)x * x) * std::erfc((long double)x));
  const double step = -1 / (2 * x * x);
  double sum = 1;
  for (int odd = 9; odd > 0; odd -= 2) sum = 1 + odd * step * sum;
  return sum / (x * std::sqrt(M_PI));
}
// Where a difference to erf (slope 1) or erfc (-1) is 0, by Halley's method from an approximation.
template <class Function>
inline long double zero_of_error(Function difference, long double slope, long double x) {
  for (int turn = 0; turn < 4; ++turn) {
    const long double step = difference(x) / (slope * 1.12837916709551257390L * std::exp(-x * x));
    x -= step / (1 + x * step);
  }
  return x;
}
// Where erfc is y (0 < y < 0.5), from Abramowitz and Stegun 26.2.22.
inline double inverse_of_small_erfc(long double y) {
  const long double t = std::sqrt(-2 * std::log(y / 2));
  const long double x = t - (2.30753L + t * 0.27061L) / (1 + t * (0.99229L + t * 0.04481L));
  return double(zero_of_error([&](long double x) { return std::erfc(x) - y; }, -1, x * 0.70710678118654752440L));
}
inline double inverse_erf(double y) {
  const double size = std::fabs(y);
  if (!(size < 1)) return size == 1 ? y * HUGE_VAL : NAN;
  if (size > 0.5) return std::copysign(inverse_of_small_erfc(1 - size), y);
  return y == 0 ? y : double(zero_of_error([&](long double x) { return std::erf(x) - y; }, 1, 0.886L * y));
}
inline double inverse_erfc(double y) {
  if (y >= 0.5 && y <= 1.5) return inverse_erf(1 - y);
  if (!(y > 0 && y < 2)) return y == 0 ? HUGE_VAL : y == 2 ? -HUGE_VAL : NAN;
  return y < 1 ? inverse_of_small_erfc(y) : -inverse_of_small_erfc(2 - (long double)y);
}
template <class T>
inline T norm(int count, const T* values) {
  long double sum = 0;
  for (int i = 0; i < count; ++i) sum += (long double)values[i] * values[i];
  return T(std::sqrt(sum));
}
// Of whole orders, which are even or odd; the library's want a number that is not negative.
template <class T>
inline T bessel_i(int order, T x) {
  const double size = std::cyl_bessel_i(double(order), double(std::fabs(x)));
  return T(order % 2 && x < 0 ? -size : size);
}
}  // namespace morph_cuda

#define MORPH_FUNCTIONS(T, F)                                                                      \
  inline T erfcx##F(T x) { return T(morph_cuda::scaled_erfc(x)); }                                        \
  inline T erfinv##F(T x) { return T(morph_cuda::inverse_erf(x)); }                                       \
  inline T erfcinv##F(T x) { return T(morph_cuda::inverse_erfc(x)); }                                     \
  inline T normcdf##F(T x) { return T(0.5 * std::erfc(-x * M_SQRT1_2)); }                                 \
  inline T normcdfinv##F(T x) { return T(-M_SQRT2 * morph_cuda::inverse_erfc(2 * double(x))); }           \
  inline T cyl_bessel_i0##F(T x) { return morph_cuda::bessel_i(0, x); }                                   \
  inline T cyl_bessel_i1##F(T x) { return morph_cuda::bessel_i(1, x); }                                   \
  inline T norm##F(int count, const T* values) { return morph_cuda::norm(count, values); }                \
  inline T rnorm##F(int count, const T* values) { return 1 / morph_cuda::norm(count, values); }           \
  inline T norm3d##F(T x, T y, T z) { return std::hypot(x, y, z); }                                       \
  inline T rnorm3d##F(T x, T y, T z) { return 1 / std::hypot(x, y, z); }                                  \
  inline T norm4d##F(T x, T y, T z, T w) { return std::hypot(std::hypot(x, y), z, w); }                   \
  inline T rnorm4d##F(T x, T y, T z, T w) { return 1 / norm4d##F(x, y, z, w); }                           \
  inline T rhypot##F(T x, T y) { return 1 / std::hypot(x, y); }                                           \
  inline void sincospi##F(T x, T* s, T* c) { *s = sinpi##F(x), *c = cospi##F(x); }
MORPH_FUNCTIONS(float, f)
MORPH_FUNCTIONS(double, )
#undef MORPH_FUNCTIONS
