// The generators of cuRAND's kernels: Philox4x32-10 (Salmon and others, 2011), xorwow (Marsaglia, 2003) and MRG32k3a
// (L'Ecuyer, 1999), each with cuRAND's seeding and order of numbers.
#pragma once

#include <cstdint>

#include "morph/random.h"
#include "morph/runtime.h"

#define MORPH_KEPT  /* the second number of a pair of normal ones */ \
  int boxmuller_flag, boxmuller_flag_double;                         \
  float boxmuller_extra;                                             \
  double boxmuller_extra_double;
struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned STATE;  // how many numbers of `output` were drawn
  MORPH_KEPT
};
struct curandStateXORWOW {
  unsigned d, v[5];
  MORPH_KEPT
};
struct curandStateMRG32k3a {
  unsigned s1[3], s2[3];
  MORPH_KEPT
};
#undef MORPH_KEPT
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
typedef struct curandStateXORWOW curandStateXORWOW_t;
typedef struct curandStateMRG32k3a curandStateMRG32k3a_t;
typedef struct curandStateXORWOW curandState_t;
typedef struct curandStateXORWOW curandState;

namespace morph_cuda {

// Moves a state on by n times two to the power of `doublings` numbers.
void skip_xorwow(unsigned* v, unsigned long long n, int doublings);
void skip_mrg32k3a(unsigned* s1, unsigned* s2, unsigned long long n, int doublings);

inline uint4 philox_round(uint4 counter, uint2 key) {
  uint64_t first = uint64_t(0xD2511F53) * counter.x, second = uint64_t(0xCD9E8D57) * counter.z;
  return {uint32_t(second >> 32) ^ counter.y ^ key.x, uint32_t(second), uint32_t(first >> 32) ^ counter.w ^ key.y,
          uint32_t(first)};
}
inline void add(unsigned& low, unsigned& high, unsigned long long n, unsigned long long& carry) {
  uint64_t before = uint64_t(high) << 32 | low, after = before + n;
  low = unsigned(after), high = unsigned(after >> 32), carry = after < before;
}
inline void add_to_counter(uint4& counter, unsigned long long n) {
  unsigned long long carry = 0;
  add(counter.x, counter.y, n, carry);
  if (carry) add(counter.z, counter.w, 1, carry);
}
template <class State>
inline void forget_normals(State* state) {
  state->boxmuller_flag = state->boxmuller_flag_double = 0;
  state->boxmuller_extra = 0, state->boxmuller_extra_double = 0;
}

}  // namespace morph_cuda

inline uint4 curand_Philox4x32_10(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; round++) {
    counter = morph_cuda::philox_round(counter, key);
    key.x += 0x9E3779B9, key.y += 0xBB67AE85;
  }
  return counter;
}
inline void skipahead(unsigned long long n, curandStatePhilox4_32_10_t* state) {
  unsigned drawn = state->STATE + unsigned(n & 3);
  morph_cuda::add_to_counter(state->ctr, (n >> 2) + (drawn >> 2));
  state->STATE = drawn & 3;
  state->output = curand_Philox4x32_10(state->ctr, state->key);
}
inline void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t* state) {
  unsigned long long carry = 0;
  morph_cuda::add(state->ctr.z, state->ctr.w, n, carry);
  state->output = curand_Philox4x32_10(state->ctr, state->key);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStatePhilox4_32_10_t* state) {
  state->ctr = {0, 0, unsigned(subsequence), unsigned(subsequence >> 32)};
  state->key = {unsigned(seed), unsigned(seed >> 32)};
  state->STATE = 0;
  morph_cuda::forget_normals(state);
  skipahead(offset, state);
}
inline unsigned curand(curandStatePhilox4_32_10_t* state) {
  unsigned drawn = (&state->output.x)[state->STATE];
  if (++state->STATE == 4) skipahead(0, state);
  return drawn;
}
inline uint4 curand4(curandStatePhilox4_32_10_t* state) {
  uint4 before = state->output;
  unsigned from = state->STATE;
  skipahead(4, state);
  unsigned all[8] = {before.x, before.y, before.z, before.w, state->output.x, state->output.y, state->output.z, state->output.w};
  return {all[from], all[from + 1], all[from + 2], all[from + 3]};
}

inline void skipahead(unsigned long long n, curandStateXORWOW_t* state) {
  morph_cuda::skip_xorwow(state->v, n, 0);
  state->d += 362437 * unsigned(n);
}
inline void skipahead_sequence(unsigned long long n, curandStateXORWOW_t* state) {
  morph_cuda::skip_xorwow(state->v, n, 67);  // which is a whole number of rounds for d
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStateXORWOW_t* state) {
  unsigned low = 1099087573 * (unsigned(seed) ^ 0xaad26b49), high = 2591861531 * (unsigned(seed >> 32) ^ 0xf7dcefdd);
  unsigned seeded[5] = {123456789 + low, 362436069 ^ low, 521288629 + high, 88675123 ^ high, 5783321 + low};
  for (int i = 0; i < 5; i++) state->v[i] = seeded[i];
  state->d = 6615241 + high + low;
  morph_cuda::forget_normals(state);
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}
inline unsigned curand(curandStateXORWOW_t* state) {
  unsigned* v = state->v;
  unsigned mixed = v[0] ^ v[0] >> 2;
  v[0] = v[1], v[1] = v[2], v[2] = v[3], v[3] = v[4];
  v[4] = (v[4] ^ v[4] << 4) ^ (mixed ^ mixed << 1);
  state->d += 362437;
  return state->d + v[4];
}

inline void skipahead(unsigned long long n, curandStateMRG32k3a_t* state) {
  morph_cuda::skip_mrg32k3a(state->s1, state->s2, n, 0);
}
inline void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a_t* state) {
  morph_cuda::skip_mrg32k3a(state->s1, state->s2, n, 76);
}
inline void skipahead_sequence(unsigned long long n, curandStateMRG32k3a_t* state) {
  morph_cuda::skip_mrg32k3a(state->s1, state->s2, n, 127);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStateMRG32k3a_t* state) {
  constexpr uint64_t kFirst = 4294967087, kSecond = 4294944443;
  uint64_t low = unsigned(seed) ^ 0x55555555, high = unsigned(seed >> 32) ^ 0xAAAAAAAA;
  if (!seed) low = high = 1;
  for (int i = 0; i < 3; i++) {
    state->s1[i] = unsigned((i == 1 ? high : low) * 12345 % kFirst);
    state->s2[i] = unsigned((i == 1 ? low : high) * 12345 % kSecond);
  }
  morph_cuda::forget_normals(state);
  skipahead_subsequence(subsequence, state);
  skipahead(offset, state);
}
namespace morph_cuda {
inline double next_mrg32k3a(curandStateMRG32k3a_t* state) {  // from 1 to 4294967087
  constexpr int64_t kFirst = 4294967087, kSecond = 4294944443;
  unsigned *s1 = state->s1, *s2 = state->s2;
  int64_t first = (1403580 * int64_t(s1[1]) - 810728 * int64_t(s1[0])) % kFirst;
  int64_t second = (527612 * int64_t(s2[2]) - 1370589 * int64_t(s2[0])) % kSecond;
  s1[0] = s1[1], s1[1] = s1[2], s1[2] = unsigned(first < 0 ? first + kFirst : first);
  s2[0] = s2[1], s2[1] = s2[2], s2[2] = unsigned(second < 0 ? second + kSecond : second);
  int64_t difference = int64_t(s1[2]) - int64_t(s2[2]);
  return double(difference <= 0 ? difference + kFirst : difference);
}
}  // namespace morph_cuda
inline unsigned curand(curandStateMRG32k3a_t* state) { return unsigned(morph_cuda::next_mrg32k3a(state) * 1.000000048662); }
