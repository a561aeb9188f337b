// The intrinsics of dynamic programming (CUDA Math API, "SIMD Intrinsics", DPX): sums, maxima and minima at once.
#pragma once

namespace morph_cuda {
inline int sum(int a, int b) { return int(unsigned(a) + unsigned(b)); }
inline unsigned sum(unsigned a, unsigned b) { return a + b; }
}  // namespace morph_cuda

#define MORPH_OF_TWO_AND_THREE(T, KIND, SUM, MAX, MIN)                                        \
  inline T __viaddmax_##KIND(T a, T b, T c) { return MAX(SUM(a, b), c); }                     \
  inline T __viaddmin_##KIND(T a, T b, T c) { return MIN(SUM(a, b), c); }                     \
  inline T __vimax3_##KIND(T a, T b, T c) { return MAX(MAX(a, b), c); }                       \
  inline T __vimin3_##KIND(T a, T b, T c) { return MIN(MIN(a, b), c); }
// At least 0.
#define MORPH_RECTIFIED(T, KIND, MAX, MIN)                                                    \
  inline T __vimax_##KIND##_relu(T a, T b) { return MAX(MAX(a, b), T(0)); }                   \
  inline T __vimin_##KIND##_relu(T a, T b) { return MAX(MIN(a, b), T(0)); }                   \
  inline T __viaddmax_##KIND##_relu(T a, T b, T c) { return MAX(__viaddmax_##KIND(a, b, c), T(0)); } \
  inline T __viaddmin_##KIND##_relu(T a, T b, T c) { return MAX(__viaddmin_##KIND(a, b, c), T(0)); } \
  inline T __vimax3_##KIND##_relu(T a, T b, T c) { return MAX(__vimax3_##KIND(a, b, c), T(0)); }     \
  inline T __vimin3_##KIND##_relu(T a, T b, T c) { return MAX(__vimin3_##KIND(a, b, c), T(0)); }
// And whether the first one was taken.
#define MORPH_CHOSEN(T, KIND)                                                                 \
  inline T __vibmax_##KIND(T a, T b, bool* first) { return *first = a >= b, *first ? a : b; } \
  inline T __vibmin_##KIND(T a, T b, bool* first) { return *first = a <= b, *first ? a : b; }
#define MORPH_CHOSEN_LANES(LANE, KIND, LETTER)                                                      \
  inline unsigned __vibmax_##KIND(unsigned a, unsigned b, bool* high, bool* low) {                  \
    *high = LANE(a >> 16) >= LANE(b >> 16), *low = LANE(a) >= LANE(b);                              \
    return __vmax##LETTER##2(a, b);                                                                 \
  }                                                                                                 \
  inline unsigned __vibmin_##KIND(unsigned a, unsigned b, bool* high, bool* low) {                  \
    *high = LANE(a >> 16) <= LANE(b >> 16), *low = LANE(a) <= LANE(b);                              \
    return __vmin##LETTER##2(a, b);                                                                 \
  }
MORPH_OF_TWO_AND_THREE(int, s32, morph_cuda::sum, max, min)
MORPH_OF_TWO_AND_THREE(unsigned, u32, morph_cuda::sum, max, min)
MORPH_OF_TWO_AND_THREE(unsigned, s16x2, __vadd2, __vmaxs2, __vmins2)
MORPH_OF_TWO_AND_THREE(unsigned, u16x2, __vadd2, __vmaxu2, __vminu2)
MORPH_RECTIFIED(int, s32, max, min)
MORPH_RECTIFIED(unsigned, s16x2, __vmaxs2, __vmins2)
MORPH_CHOSEN(int, s32)
MORPH_CHOSEN(unsigned, u32)
MORPH_CHOSEN_LANES(int16_t, s16x2, s)
MORPH_CHOSEN_LANES(uint16_t, u16x2, u)
#undef MORPH_OF_TWO_AND_THREE
#undef MORPH_RECTIFIED
#undef MORPH_CHOSEN
#undef MORPH_CHOSEN_LANES
