// The intrinsics of integers: bits, bytes, products, and the lanes of two or four numbers in a word.
#pragma once

inline int __mul24(int x, int y) { return int(int64_t(int(unsigned(x) << 8) >> 8) * (int(unsigned(y) << 8) >> 8)); }
inline unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffff) * (y & 0xffffff); }
inline int __mulhi(int x, int y) { return int(int64_t(x) * y >> 32); }
inline unsigned __umulhi(unsigned x, unsigned y) { return unsigned(uint64_t(x) * y >> 32); }
inline long long __mul64hi(long long x, long long y) { return (long long)((__int128)x * y >> 64); }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return (unsigned long long)((unsigned __int128)x * y >> 64);
}
inline int __hadd(int x, int y) { return int((int64_t(x) + y) >> 1); }
inline int __rhadd(int x, int y) { return int((int64_t(x) + y + 1) >> 1); }
inline unsigned __uhadd(unsigned x, unsigned y) { return unsigned((uint64_t(x) + y) >> 1); }
inline unsigned __urhadd(unsigned x, unsigned y) { return unsigned((uint64_t(x) + y + 1) >> 1); }
inline unsigned __sad(int x, int y, unsigned z) { return unsigned(std::abs(int64_t(x) - y)) + z; }
inline unsigned __usad(unsigned x, unsigned y, unsigned z) { return (x > y ? x - y : y - x) + z; }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
  return r;
}
inline unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) r |= unsigned(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return r;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return unsigned(((uint64_t(high) << 32 | low) << (by & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return unsigned((uint64_t(high) << 32 | low) >> (by & 31));
}
// By at most 32.
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned by) {
  return by < 32 ? __funnelshift_l(low, high, by) : low;
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned by) {
  return by < 32 ? __funnelshift_r(low, high, by) : high;
}
inline int __dp4a(int a, int b, int sum) {
  for (int i = 0; i < 4; i++) sum += int(int8_t(a >> 8 * i)) * int(int8_t(b >> 8 * i));
  return sum;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  for (int i = 0; i < 4; i++) sum += (a >> 8 * i & 0xff) * (b >> 8 * i & 0xff);
  return sum;
}
// Two halves of a word by two of a word's four bytes.
#define MORPH_DOT_OF_HALVES(NAME, FIRST, T, HALF, BYTE)                                                   \
  inline T NAME(T a, T b, T sum) {                                                                       \
    return T(unsigned(sum) + unsigned(HALF(a) * BYTE(b >> FIRST) + HALF(a >> 16) * BYTE(b >> (FIRST + 8)))); \
  }
MORPH_DOT_OF_HALVES(__dp2a_lo, 0, int, int16_t, int8_t)
MORPH_DOT_OF_HALVES(__dp2a_hi, 16, int, int16_t, int8_t)
MORPH_DOT_OF_HALVES(__dp2a_lo, 0, unsigned, uint16_t, uint8_t)
MORPH_DOT_OF_HALVES(__dp2a_hi, 16, unsigned, uint16_t, uint8_t)
#undef MORPH_DOT_OF_HALVES

namespace morph_cuda {
// A word whose lanes are those of a function of two words' lanes; what it returns wraps around.
template <class Lane, class Function>
inline unsigned of_lanes(unsigned a, unsigned b, Function function) {
  constexpr int width = 8 * sizeof(Lane);
  unsigned word = 0;
  for (int at = 0; at < 32; at += width)
    word |= (unsigned(function(int(Lane(a >> at)), int(Lane(b >> at)))) & ((1u << width) - 1)) << at;
  return word;
}
template <class Lane>
inline int within(int x) {
  using Limits = std::numeric_limits<Lane>;
  return x < Limits::min() ? Limits::min() : x > Limits::max() ? Limits::max() : x;
}
template <class Lane>
inline unsigned sum_of_differences(unsigned a, unsigned b) {
  unsigned sum = 0;
  for (int at = 0; at < 32; at += 8 * sizeof(Lane)) sum += unsigned(std::abs(int(Lane(a >> at)) - int(Lane(b >> at))));
  return sum;
}
}  // namespace morph_cuda

#define MORPH_LANES_OF(NAME, LANE, RESULT)                                                              \
  inline unsigned NAME(unsigned a, unsigned b) {                                                        \
    using Lane = LANE;                                                                                  \
    return morph_cuda::of_lanes<Lane>(a, b, [](int x, int y) { return int(RESULT); });                  \
  }
#define MORPH_LANES(NAME, KIND, RESULT)                \
  MORPH_LANES_OF(NAME##2, KIND##16_t, RESULT)          \
  MORPH_LANES_OF(NAME##4, KIND##8_t, RESULT)
// Of each sign, with the letters of its type.
#define MORPH_SIGNED_AND_UNSIGNED(NAME, RESULT) \
  MORPH_LANES(NAME##s, int, RESULT)             \
  MORPH_LANES(NAME##u, uint, RESULT)
#define MORPH_COMPARED(NAME, SYMBOL)                        \
  MORPH_SIGNED_AND_UNSIGNED(__vcmp##NAME, -(x SYMBOL y))    \
  MORPH_SIGNED_AND_UNSIGNED(__vset##NAME, x SYMBOL y)
MORPH_LANES(__vadd, uint, x + y)
MORPH_LANES(__vsub, uint, x - y)
MORPH_LANES(__vaddss, int, morph_cuda::within<Lane>(x + y))
MORPH_LANES(__vsubss, int, morph_cuda::within<Lane>(x - y))
MORPH_LANES(__vaddus, uint, morph_cuda::within<Lane>(x + y))
MORPH_LANES(__vsubus, uint, morph_cuda::within<Lane>(x - y))
MORPH_LANES(__vavgs, int, (x + y + (x + y >= 0)) >> 1)
MORPH_LANES(__vavgu, uint, (x + y + 1) >> 1)
MORPH_LANES(__vhaddu, uint, (x + y) >> 1)
MORPH_SIGNED_AND_UNSIGNED(__vabsdiff, std::abs(x - y))
MORPH_SIGNED_AND_UNSIGNED(__vmax, x > y ? x : y)
MORPH_SIGNED_AND_UNSIGNED(__vmin, x < y ? x : y)
MORPH_LANES(__vcmpeq, uint, -(x == y))
MORPH_LANES(__vcmpne, uint, -(x != y))
MORPH_LANES(__vseteq, uint, x == y)
MORPH_LANES(__vsetne, uint, x != y)
MORPH_COMPARED(ge, >=)
MORPH_COMPARED(gt, >)
MORPH_COMPARED(le, <=)
MORPH_COMPARED(lt, <)
#undef MORPH_COMPARED
#undef MORPH_SIGNED_AND_UNSIGNED
#undef MORPH_LANES
#undef MORPH_LANES_OF
#define MORPH_LANES(WIDTH, SIGNED, UNSIGNED)                                                                     \
  inline unsigned __vabs##WIDTH(unsigned a) {                                                                    \
    return morph_cuda::of_lanes<SIGNED>(a, 0, [](int x, int) { return std::abs(x); });                           \
  }                                                                                                              \
  inline unsigned __vneg##WIDTH(unsigned a) { return __vsub##WIDTH(0, a); }                                      \
  inline unsigned __vabsss##WIDTH(unsigned a) {                                                                  \
    return morph_cuda::of_lanes<SIGNED>(a, 0, [](int x, int) { return morph_cuda::within<SIGNED>(std::abs(x)); }); \
  }                                                                                                              \
  inline unsigned __vnegss##WIDTH(unsigned a) { return __vsubss##WIDTH(0, a); }                                  \
  inline unsigned __vsads##WIDTH(unsigned a, unsigned b) { return morph_cuda::sum_of_differences<SIGNED>(a, b); }  \
  inline unsigned __vsadu##WIDTH(unsigned a, unsigned b) { return morph_cuda::sum_of_differences<UNSIGNED>(a, b); }
MORPH_LANES(2, int16_t, uint16_t)
MORPH_LANES(4, int8_t, uint8_t)
#undef MORPH_LANES
