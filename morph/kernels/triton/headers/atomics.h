// The atomic operations of a kernel.
#pragma once
#include "numbers.h"

namespace atomics {

template <size_t Size> struct Word;
template <> struct Word<1> { using type = uint8_t; };
template <> struct Word<2> { using type = uint16_t; };
template <> struct Word<4> { using type = uint32_t; };
template <> struct Word<8> { using type = uint64_t; };

// Replaces what lies at `place` by what `change` makes of it, and returns what lay there.
template <class T, class Change>
static inline T replace(T* place, Change change) {
  using W = typename Word<sizeof(T)>::type;
  W* word = reinterpret_cast<W*>(place);
  W seen = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  for (;;) {
    T before = bits<T>(seen);
    if (__atomic_compare_exchange_n(word, &seen, bits<W>(T(change(before))), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      return before;
  }
}

template <class T> static inline T add(T* place, T value) {
  using U = std::make_unsigned_t<T>;
  return replace(place, [=](T before) { return T(U(before) + U(value)); });
}
template <class T> static inline T fadd(T* place, T value) {
  using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
  return replace(place, [=](T before) { return T(C(before) + C(value)); });
}
template <class T> static inline T exch(T* place, T value) { return replace(place, [=](T) { return value; }); }
template <class T> static inline T max(T* place, T value) { return replace(place, [=](T b) { return b > value ? b : value; }); }
template <class T> static inline T min(T* place, T value) { return replace(place, [=](T b) { return b < value ? b : value; }); }
template <class T> static inline T umax(T* place, T value) {
  using U = std::make_unsigned_t<T>;
  return replace(place, [=](T before) { return U(before) > U(value) ? before : value; });
}
template <class T> static inline T umin(T* place, T value) {
  using U = std::make_unsigned_t<T>;
  return replace(place, [=](T before) { return U(before) < U(value) ? before : value; });
}
template <class T> static inline T and_(T* place, T value) { return replace(place, [=](T b) { return T(b & value); }); }
template <class T> static inline T or_(T* place, T value) { return replace(place, [=](T b) { return T(b | value); }); }
template <class T> static inline T xor_(T* place, T value) { return replace(place, [=](T b) { return T(b ^ value); }); }

// Writes `value` where `expected` lies, bit for bit, and returns what lay there.
template <class T> static inline T compare_and_swap(T* place, T expected, T value) {
  using W = typename Word<sizeof(T)>::type;
  W seen = bits<W>(expected);
  __atomic_compare_exchange_n(reinterpret_cast<W*>(place), &seen, bits<W>(value), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return bits<T>(seen);
}

}  // namespace atomics
