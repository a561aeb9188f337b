// Rounding to half precision, by the processor's instruction where it has one.
#pragma once
#include <cstdint>

// GCC 12 uses the instruction for one number only. It is told here of a function that has forms for vectors,
// named as the platform's ABI for vector functions says, and calls those from the loops that it vectorises.
#if defined(__F16C__) && defined(__AVX2__) && !defined(__clang__)
#define MORPH_HAS_HALF_INSTRUCTION

namespace half {
typedef float Floats4 __attribute__((vector_size(16)));
typedef float Floats8 __attribute__((vector_size(32)));
typedef short Shorts8 __attribute__((vector_size(16)));
typedef uint16_t Halves4 __attribute__((vector_size(8)));
typedef uint16_t Halves8 __attribute__((vector_size(16)));
typedef uint32_t Words4 __attribute__((vector_size(16)));
typedef uint32_t Words8 __attribute__((vector_size(32)));
#if defined(__AVX512F__)
typedef float Floats16 __attribute__((vector_size(64)));
typedef short Shorts16 __attribute__((vector_size(32)));
typedef uint16_t Halves16 __attribute__((vector_size(32)));
typedef uint32_t Words16 __attribute__((vector_size(64)));
#endif
static constexpr int kCurrentRounding = 4;
}  // namespace half

#define MORPH_HIDDEN __attribute__((visibility("hidden")))
extern "C" {
__attribute__((simd("notinbranch"), const)) MORPH_HIDDEN uint32_t morph_half(float value);

MORPH_HIDDEN uint32_t morph_half_of_1(float value) asm("morph_half");
uint32_t morph_half_of_1(float value) {
  return uint16_t(__builtin_ia32_vcvtps2ph(half::Floats4{value}, half::kCurrentRounding)[0]);
}

MORPH_HIDDEN half::Words4 morph_half_of_4(half::Floats4 values) asm("_ZGVbN4v_morph_half");
half::Words4 morph_half_of_4(half::Floats4 values) {
  half::Shorts8 all = __builtin_ia32_vcvtps2ph(values, half::kCurrentRounding);
  half::Halves4 low;
  __builtin_memcpy(&low, &all, sizeof low);
  return __builtin_convertvector(low, half::Words4);
}
MORPH_HIDDEN half::Words4 morph_half_of_4_avx(half::Floats4 values) asm("_ZGVcN4v_morph_half");
half::Words4 morph_half_of_4_avx(half::Floats4 values) { return morph_half_of_4(values); }

MORPH_HIDDEN half::Words8 morph_half_of_8(half::Floats8 values) asm("_ZGVdN8v_morph_half");
half::Words8 morph_half_of_8(half::Floats8 values) {
  half::Shorts8 all = __builtin_ia32_vcvtps2ph256(values, half::kCurrentRounding);
  return __builtin_convertvector((half::Halves8)all, half::Words8);
}

#if defined(__AVX512F__)
MORPH_HIDDEN half::Words16 morph_half_of_16(half::Floats16 values) asm("_ZGVeN16v_morph_half");
half::Words16 morph_half_of_16(half::Floats16 values) {
  half::Shorts16 all = __builtin_ia32_vcvtps2ph512_mask(values, half::kCurrentRounding, half::Shorts16{}, -1);
  return __builtin_convertvector((half::Halves16)all, half::Words16);
}
#endif
}
#undef MORPH_HIDDEN
#endif
