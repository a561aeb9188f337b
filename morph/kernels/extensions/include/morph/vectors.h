// CUDA's vector types.
#pragma once

#define MORPH_VECTORS(T, NAME)                                                              \
  struct NAME##1 { T x; };                                                                  \
  struct alignas(2 * sizeof(T)) NAME##2 { T x, y; };                                        \
  struct NAME##3 { T x, y, z; };                                                            \
  struct alignas(sizeof(T) * 4 > 16 ? 16 : sizeof(T) * 4) NAME##4 { T x, y, z, w; };        \
  constexpr NAME##1 make_##NAME##1(T x) { return {x}; }                                     \
  constexpr NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                             \
  constexpr NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }                     \
  constexpr NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }
MORPH_VECTORS(signed char, char)
MORPH_VECTORS(unsigned char, uchar)
MORPH_VECTORS(short, short)
MORPH_VECTORS(unsigned short, ushort)
MORPH_VECTORS(int, int)
MORPH_VECTORS(unsigned int, uint)
MORPH_VECTORS(long, long)
MORPH_VECTORS(unsigned long, ulong)
MORPH_VECTORS(long long, longlong)
MORPH_VECTORS(unsigned long long, ulonglong)
MORPH_VECTORS(float, float)
MORPH_VECTORS(double, double)
#undef MORPH_VECTORS

// CUDA 13 names the alignment of those of 32 bytes.
#define MORPH_ALIGNED(T, NAME)                         \
  struct alignas(16) NAME##4_16a { T x, y, z, w; };    \
  struct alignas(32) NAME##4_32a { T x, y, z, w; };
MORPH_ALIGNED(long, long)
MORPH_ALIGNED(unsigned long, ulong)
MORPH_ALIGNED(long long, longlong)
MORPH_ALIGNED(unsigned long long, ulonglong)
MORPH_ALIGNED(double, double)
#undef MORPH_ALIGNED

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
};
