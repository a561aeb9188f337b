// What an `asm` in CUDA C++ becomes: its operands as registers, and the memory that its instructions reach.
#pragma once

#include "morph/atomics.h"
#include "morph/runtime.h"
#include "morph/shared.h"
#include "morph/threads.h"
#include "ptx.h"

namespace morph_cuda {

// The bits of a register, by the letter of its constraint ("Inline PTX Assembly in CUDA", "Constraints").
template <char letter> struct RegisterOf { using type = uint32_t; };
template <> struct RegisterOf<'h'> { using type = uint16_t; };
template <> struct RegisterOf<'l'> { using type = uint64_t; };
template <> struct RegisterOf<'d'> { using type = uint64_t; };
template <> struct RegisterOf<'n'> { using type = uint64_t; };
template <char letter> using Register = typename RegisterOf<letter>::type;

template <char letter>
using Number = std::conditional_t<letter == 'f', float, double>;

template <char letter, class T>
Register<letter> register_of(const T& operand) {
  if constexpr (letter == 'f' || letter == 'd') return morph_ptx::bits<Number<letter>>(Number<letter>(operand));
  else if constexpr (std::is_pointer_v<T>) return Register<letter>(reinterpret_cast<uintptr_t>(operand));
  else return Register<letter>(operand);
}
template <char letter, class T>
void from_register(T& operand, Register<letter> from) {
  if constexpr (letter == 'f' || letter == 'd') operand = T(morph_ptx::value<Number<letter>>(from));
  else if constexpr (std::is_pointer_v<T>) operand = reinterpret_cast<T>(uintptr_t(from));
  else operand = T(from);
}

}  // namespace morph_cuda

namespace morph_ptx {

// A load of what another thread may write.
template <class T, int count>
Vector<T, count> watch(const unsigned char* from) {
  ::morph_cuda::looked(from);
  return load<T, count>(from);
}

// A function of the number in memory, or of both in a word.
template <class T, bool pair>
struct Atomic {
  using R = Unsigned<sizeof(T) * (pair ? 2 : 1)>;

  template <class F>
  static R replaced(unsigned char* place, F f) {
    return ::morph_cuda::update(reinterpret_cast<R*>(place), f);
  }
  template <class F>
  static R computed(unsigned char* place, R b, F f) {
    auto one = [&](Bits<T> x, Bits<T> y) {
      if constexpr (std::is_integral_v<T>) return Bits<T>(f(value<T>(x), value<T>(y)));
      else return written<T>(f(Computed<T>(value<T>(x)), Computed<T>(value<T>(y))), 0);
    };
    if constexpr (pair) return replaced(place, [&](R a) { return morph_ptx::pair<T>(one, a, b); });
    else return replaced(place, [&](R a) { return one(a, b); });
  }
  static R add(unsigned char* p, R b) {
    if constexpr (std::is_integral_v<T>) return replaced(p, [&](R a) { return R(a + b); });
    else return computed(p, b, [](auto x, auto y) { return x + y; });
  }
  static R min(unsigned char* p, R b) { return computed(p, b, [](auto x, auto y) { return y < x ? y : x; }); }
  static R max(unsigned char* p, R b) { return computed(p, b, [](auto x, auto y) { return y > x ? y : x; }); }
  static R and_(unsigned char* p, R b) { return replaced(p, [&](R a) { return R(a & b); }); }
  static R or_(unsigned char* p, R b) { return replaced(p, [&](R a) { return R(a | b); }); }
  static R xor_(unsigned char* p, R b) { return replaced(p, [&](R a) { return R(a ^ b); }); }
  static R exch(unsigned char* p, R b) { return replaced(p, [&](R) { return b; }); }
  static R cas(unsigned char* p, R b, R c) {
    R before = replaced(p, [&](R a) { return a == b ? c : a; });
    if (before != b) ::morph_cuda::looked(p);
    return before;
  }
  static R inc(unsigned char* p, R b) { return replaced(p, [&](R a) { return a >= b ? R(0) : R(a + 1); }); }
  static R dec(unsigned char* p, R b) { return replaced(p, [&](R a) { return a == 0 || a > b ? b : R(a - 1); }); }
};

}  // namespace morph_ptx
