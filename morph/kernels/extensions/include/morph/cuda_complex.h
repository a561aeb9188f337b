// cuComplex.h: a complex number is a vector of two.
#pragma once

#include <cmath>

#include "morph/vectors.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define MORPH_COMPLEX(NUMBER, REAL, S)                                                                           \
  inline NUMBER make_##NUMBER(REAL x, REAL y) { return {x, y}; }                                                 \
  inline REAL cuCreal##S(NUMBER z) { return z.x; }                                                               \
  inline REAL cuCimag##S(NUMBER z) { return z.y; }                                                               \
  inline REAL cuCabs##S(NUMBER z) { return std::hypot(z.x, z.y); }                                               \
  inline NUMBER cuConj##S(NUMBER z) { return {z.x, -z.y}; }                                                      \
  inline NUMBER cuCadd##S(NUMBER a, NUMBER b) { return {a.x + b.x, a.y + b.y}; }                                 \
  inline NUMBER cuCsub##S(NUMBER a, NUMBER b) { return {a.x - b.x, a.y - b.y}; }                                 \
  inline NUMBER cuCmul##S(NUMBER a, NUMBER b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }         \
  inline NUMBER cuCfma##S(NUMBER a, NUMBER b, NUMBER c) { return cuCadd##S(cuCmul##S(a, b), c); }                \
  inline NUMBER cuCdiv##S(NUMBER a, NUMBER b) { /* scaled, so that the squares do not overflow */                \
    REAL scale = 1 / (std::fabs(b.x) + std::fabs(b.y));                                                          \
    NUMBER p{a.x * scale, a.y * scale}, q{b.x * scale, b.y * scale};                                             \
    REAL square = q.x * q.x + q.y * q.y;                                                                         \
    return {(p.x * q.x + p.y * q.y) / square, (p.y * q.x - p.x * q.y) / square};                                 \
  }
MORPH_COMPLEX(cuFloatComplex, float, f)
MORPH_COMPLEX(cuDoubleComplex, double, )
#undef MORPH_COMPLEX
inline cuComplex make_cuComplex(float x, float y) { return {x, y}; }
inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) { return {double(z.x), double(z.y)}; }
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) { return {float(z.x), float(z.y)}; }
