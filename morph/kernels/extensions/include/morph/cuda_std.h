// The names of cuda::std are those of std, which a kernel of the software device may call.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cuda {

namespace std {
using namespace ::std;
#ifndef __cpp_lib_byteswap  // of C++23
template <class T, class = enable_if_t<is_integral_v<T>>>
constexpr T byteswap(T value) noexcept {
  static_assert(sizeof(T) <= 8);
  if constexpr (sizeof(T) == 8) return T(__builtin_bswap64(value));
  else if constexpr (sizeof(T) == 4) return T(__builtin_bswap32(value));
  else if constexpr (sizeof(T) == 2) return T(__builtin_bswap16(value));
  else return value;
}
#endif
}  // namespace std

struct morph_greater {
  template <class T> static constexpr bool is_first(const T& a, const T& b) { return b < a; }
};
struct morph_less {
  template <class T> static constexpr bool is_first(const T& a, const T& b) { return a < b; }
};
template <class Order, class T>
struct morph_extreme {
  constexpr T operator()(const T& a, const T& b) const { return Order::is_first(b, a) ? b : a; }
};
template <class Order>
struct morph_extreme<Order, void> {
  template <class A, class B>
  constexpr auto operator()(const A& a, const B& b) const -> ::std::common_type_t<A, B> {
    using T = ::std::common_type_t<A, B>;
    return Order::is_first(T(b), T(a)) ? T(b) : T(a);
  }
};
template <class T = void> struct maximum : morph_extreme<morph_greater, T> {};
template <class T = void> struct minimum : morph_extreme<morph_less, T> {};

}  // namespace cuda
