// Arithmetic and conversions with a rounding of their own: to the nearest, toward zero, up and down.
#pragma once

#include <cfenv>

namespace morph_cuda {
// A function of numbers that is rounded in a direction of <cfenv>, neither moved nor computed by the compiler.
template <class To, class From, class Function>
struct Directed {
  int direction;
  Function function;
  __attribute__((noinline)) To operator()(From x, From y = {}, From z = {}) const {
    volatile From a = x, b = y, c = z;
    const int before = std::fegetround();
    std::fesetround(direction);
    volatile To result = function(From(a), From(b), From(c));
    std::fesetround(before);
    return result;
  }
};
template <class To, class From, class Function>
Directed<To, From, Function> directed(int direction, Function function) {
  return {direction, function};
}
}  // namespace morph_cuda

inline float __frsqrt_rn(float x) { return float(1 / std::sqrt(double(x))); }
#define MORPH_DIRECTED(NAME, TO, FROM, RESULT, PARAMETERS, GIVEN, DIRECTION)                                      \
  inline TO NAME PARAMETERS {                                                                                    \
    return morph_cuda::directed<TO, FROM>(DIRECTION, [](FROM x, FROM y, FROM z) { return TO(RESULT); }) GIVEN;     \
  }
#define MORPH_ROUNDED(NAME, TO, FROM, RESULT, PARAMETERS, GIVEN)                             \
  inline TO NAME##_rn PARAMETERS { return TO(RESULT); }                                      \
  MORPH_DIRECTED(NAME##_rz, TO, FROM, RESULT, PARAMETERS, GIVEN, FE_TOWARDZERO)              \
  MORPH_DIRECTED(NAME##_ru, TO, FROM, RESULT, PARAMETERS, GIVEN, FE_UPWARD)                  \
  MORPH_DIRECTED(NAME##_rd, TO, FROM, RESULT, PARAMETERS, GIVEN, FE_DOWNWARD)
#define MORPH_OF_ONE(NAME, TO, FROM, RESULT) MORPH_ROUNDED(NAME, TO, FROM, RESULT, (FROM x), (x))
#define MORPH_OF_TWO(NAME, T, RESULT) MORPH_ROUNDED(NAME, T, T, RESULT, (T x, T y), (x, y))
#define MORPH_OF_THREE(NAME, T, RESULT) MORPH_ROUNDED(NAME, T, T, RESULT, (T x, T y, T z), (x, y, z))
#define MORPH_ARITHMETIC(LETTER, FMA, T)             \
  MORPH_OF_TWO(__##LETTER##add, T, x + y)            \
  MORPH_OF_TWO(__##LETTER##sub, T, x - y)            \
  MORPH_OF_TWO(__##LETTER##mul, T, x* y)             \
  MORPH_OF_TWO(__##LETTER##div, T, x / y)            \
  MORPH_OF_ONE(__##LETTER##rcp, T, T, 1 / x)         \
  MORPH_OF_ONE(__##LETTER##sqrt, T, T, std::sqrt(x)) \
  MORPH_OF_THREE(FMA, T, std::fma(x, y, z))
MORPH_ARITHMETIC(f, __fmaf, float)
MORPH_ARITHMETIC(d, __fma, double)
MORPH_OF_THREE(__fmaf_ieee, float, std::fma(x, y, z))
MORPH_OF_ONE(__int2float, float, int, x)
MORPH_OF_ONE(__uint2float, float, unsigned, x)
MORPH_OF_ONE(__ll2float, float, long long, x)
MORPH_OF_ONE(__ull2float, float, unsigned long long, x)
MORPH_OF_ONE(__ll2double, double, long long, x)
MORPH_OF_ONE(__ull2double, double, unsigned long long, x)
MORPH_OF_ONE(__double2float, float, double, x)
#undef MORPH_ARITHMETIC
#undef MORPH_OF_THREE
#undef MORPH_OF_TWO
#undef MORPH_OF_ONE
#undef MORPH_ROUNDED
#undef MORPH_DIRECTED
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }

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
