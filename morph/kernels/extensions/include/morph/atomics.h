// Atomic operations: each returns the value from before.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "morph/threads.h"

namespace morph_cuda {

template <size_t N> struct Word;
template <> struct Word<1> { using type = uint8_t; };
template <> struct Word<2> { using type = uint16_t; };
template <> struct Word<4> { using type = uint32_t; };
template <> struct Word<8> { using type = uint64_t; };

// Replaces *p by f(*p), in one step.
template <class T, class F>
inline T update(T* p, F f) {
  using W = typename Word<sizeof(T)>::type;
  W* word = reinterpret_cast<W*>(p);
  W before = __atomic_load_n(word, __ATOMIC_RELAXED), after;
  for (;;) {
    T old, fresh;
    std::memcpy(static_cast<void*>(&old), &before, sizeof(T));
    fresh = f(old);
    std::memcpy(&after, static_cast<const void*>(&fresh), sizeof(T));
    // as on a GPU, it orders nothing else
    if (__atomic_compare_exchange_n(word, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return old;
  }
}

}  // namespace morph_cuda

// Of CUDA 12.8's atomics by functions of the compiler what CUTLASS calls.
#define __NV_ATOMIC_RELAXED __ATOMIC_RELAXED
template <class T>
inline T __nv_atomic_load_n(T* p, int order) {
  return __atomic_load_n(p, order);
}

// For each type that CUDA has: atomicAdd and the forms for a block and for the system.
#define MORPH_ATOMIC(NAME, T, RESULT)                                                                          \
  inline T NAME(T* p, T v) { return morph_cuda::update(p, [&](T old) -> T { return RESULT; }); }               \
  inline T NAME##_block(T* p, T v) { return NAME(p, v); }                                                      \
  inline T NAME##_system(T* p, T v) { return NAME(p, v); }
#define MORPH_ATOMIC_CAS(T)                                                                                    \
  inline T atomicCAS(T* p, T expected, T v) {                                                                  \
    T before = morph_cuda::update(p, [=](T old) -> T { return old == expected ? v : old; });                   \
    if (before != expected) morph_cuda::looked(p);                                                             \
    return before;                                                                                             \
  }                                                                                                            \
  inline T atomicCAS_block(T* p, T expected, T v) { return atomicCAS(p, expected, v); }                        \
  inline T atomicCAS_system(T* p, T expected, T v) { return atomicCAS(p, expected, v); }
#define MORPH_ATOMIC_INTEGER(T)                          \
  MORPH_ATOMIC(atomicMin, T, v < old ? v : old)          \
  MORPH_ATOMIC(atomicMax, T, v > old ? v : old)          \
  MORPH_ATOMIC(atomicAnd, T, old & v)                    \
  MORPH_ATOMIC(atomicOr, T, old | v)                     \
  MORPH_ATOMIC(atomicXor, T, old ^ v)
// What changes nothing only looks.
#define MORPH_LOOKING(LOOKS, RESULT) ((LOOKS ? morph_cuda::looked(p) : void()), RESULT)
MORPH_ATOMIC(atomicAdd, int, MORPH_LOOKING(v == 0, int(unsigned(old) + unsigned(v))))
MORPH_ATOMIC(atomicAdd, unsigned, MORPH_LOOKING(v == 0, old + v))
MORPH_ATOMIC(atomicAdd, unsigned long long, MORPH_LOOKING(v == 0, old + v))
MORPH_ATOMIC(atomicAdd, float, old + v)
MORPH_ATOMIC(atomicAdd, double, old + v)
MORPH_ATOMIC(atomicSub, int, int(unsigned(old) - unsigned(v)))
MORPH_ATOMIC(atomicSub, unsigned, old - v)
MORPH_ATOMIC(atomicExch, int, MORPH_LOOKING(v == old, v))
MORPH_ATOMIC(atomicExch, unsigned, MORPH_LOOKING(v == old, v))
MORPH_ATOMIC(atomicExch, unsigned long long, MORPH_LOOKING(v == old, v))
MORPH_ATOMIC(atomicExch, float, v)
MORPH_ATOMIC(atomicInc, unsigned, old >= v ? 0 : old + 1)
MORPH_ATOMIC(atomicDec, unsigned, old == 0 || old > v ? v : old - 1)
MORPH_ATOMIC_INTEGER(int)
MORPH_ATOMIC_INTEGER(unsigned)
MORPH_ATOMIC_INTEGER(long long)
MORPH_ATOMIC_INTEGER(unsigned long long)
MORPH_ATOMIC_CAS(unsigned short)
MORPH_ATOMIC_CAS(int)
MORPH_ATOMIC_CAS(unsigned)
MORPH_ATOMIC_CAS(unsigned long long)
#undef MORPH_ATOMIC_CAS
#undef MORPH_LOOKING
#undef MORPH_ATOMIC_INTEGER
// MORPH_ATOMIC stays: halves.h uses it
