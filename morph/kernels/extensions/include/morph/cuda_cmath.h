// The whole numbers of <cuda/cmath>: quotients, multiples, powers of two and logarithms.
// libcu++, "Extended API", "Math": https://nvidia.github.io/cccl/libcudacxx/extended_api/math.html
#pragma once

#include "morph/cuda_std.h"

namespace cuda {

template <class T, class U>
constexpr ::std::common_type_t<T, U> ceil_div(T a, U b) noexcept {
  using R = ::std::common_type_t<T, U>;
  return R(R(a) / R(b) + (R(a) % R(b) != 0));
}
template <class T, class U>
constexpr ::std::common_type_t<T, U> round_up(T value, U multiple) noexcept {
  return ceil_div(value, multiple) * ::std::common_type_t<T, U>(multiple);
}
template <class T, class U>
constexpr ::std::common_type_t<T, U> round_down(T value, U multiple) noexcept {
  using R = ::std::common_type_t<T, U>;
  return R(R(value) / R(multiple) * R(multiple));
}
template <class T> constexpr auto uabs(T value) noexcept {
  using U = ::std::make_unsigned_t<T>;
  return value < 0 ? U(U(0) - U(value)) : U(value);
}
template <class T> constexpr int ilog2(T value) noexcept {
  int result = -1;
  for (auto left = uabs(value); left; left /= 2) result++;
  return result;
}
template <class T> constexpr bool is_power_of_two(T value) noexcept {
  return value > 0 && (uabs(value) & (uabs(value) - 1)) == 0;
}
template <class T> constexpr T prev_power_of_two(T value) noexcept {
  return value < 1 ? T(0) : T(T(1) << ilog2(value));
}
template <class T> constexpr T next_power_of_two(T value) noexcept {
  return value < 2 ? T(1) : T(T(2) << ilog2(T(value - 1)));
}
template <class T> constexpr int ceil_ilog2(T value) noexcept { return ilog2(value) + !is_power_of_two(value); }
template <class T> constexpr int ilog10(T value) noexcept {
  int result = 0;
  for (; value >= 10; value = T(value / 10)) result++;
  return result;
}

// A divisor that is used often.
template <class T, bool is_never_one = false>
class fast_mod_div {
 public:
  fast_mod_div() = delete;
  constexpr explicit fast_mod_div(T divisor) noexcept : divisor_(divisor) {}
  constexpr operator T() const noexcept { return divisor_; }
  template <class L>
  friend constexpr ::std::common_type_t<L, T> operator/(L dividend, fast_mod_div by) noexcept {
    return dividend / by.divisor_;
  }
  template <class L>
  friend constexpr ::std::common_type_t<L, T> operator%(L dividend, fast_mod_div by) noexcept {
    return dividend % by.divisor_;
  }

 private:
  T divisor_;
};
template <class T, class L, bool is_never_one>
constexpr auto div(L dividend, fast_mod_div<T, is_never_one> by) noexcept {
  auto quotient = dividend / by, rest = dividend % by;
  return ::std::pair(quotient, rest);
}

}  // namespace cuda
