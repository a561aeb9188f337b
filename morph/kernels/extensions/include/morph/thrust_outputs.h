// thrust's iterators that change what is written, and functions of tuples.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "morph/thrust_iterators.h"

namespace thrust {

template <class T> using device_reference = T&;  // the device's memory is the host's

template <class F>
struct zip_function {
  F function;
  template <class Tuple> decltype(auto) operator()(Tuple&& values) const {
    return std::apply(function, std::forward<Tuple>(values));
  }
};
template <class F> zip_function<std::decay_t<F>> make_zip_function(F&& function) { return {std::forward<F>(function)}; }

namespace detail {

template <class Write>
struct Written {  // what an output iterator refers to
  Write write;
  template <class T> const Written& operator=(const T& value) const { return write(value), *this; }
};

// An iterator whose writes `Own::write(value)` makes.
template <class Own>
struct Output : Iterator<Own, void, void> {
  auto operator*() const {
    auto write = [own = static_cast<const Own&>(*this)](const auto& value) { own.write(value); };
    return Written<decltype(write)>{write};
  }
  auto operator[](std::ptrdiff_t n) const { return *(static_cast<const Own&>(*this) + n); }
};

}  // namespace detail

template <class F, class O>
struct transform_output_iterator : detail::Output<transform_output_iterator<F, O>> {
  transform_output_iterator(O at, F function) : at_(at), function_(function) {}
  template <class T> void write(const T& value) const { *at_ = function_(value); }
  void shift(std::ptrdiff_t n) { at_ += n; }
  std::ptrdiff_t distance_to(const transform_output_iterator& other) const { return other.at_ - at_; }

 private:
  O at_;
  F function_;
};
template <class F, class O>
transform_output_iterator(O, F) -> transform_output_iterator<F, O>;
template <class F, class O> transform_output_iterator<F, O> make_transform_output_iterator(O at, F function) {
  return {at, function};
}

template <class F>
struct tabulate_output_iterator : detail::Output<tabulate_output_iterator<F>> {
  explicit tabulate_output_iterator(F function, std::ptrdiff_t at = 0) : function_(function), at_(at) {}
  template <class T> void write(const T& value) const { function_(at_, value); }
  void shift(std::ptrdiff_t n) { at_ += n; }
  std::ptrdiff_t distance_to(const tabulate_output_iterator& other) const { return other.at_ - at_; }

 private:
  F function_;
  std::ptrdiff_t at_;
};
template <class F> tabulate_output_iterator<F> make_tabulate_output_iterator(F function, std::ptrdiff_t at = 0) {
  return tabulate_output_iterator<F>(function, at);
}

}  // namespace thrust
