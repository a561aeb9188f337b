// thrust's pointers and iterators.
#pragma once

#include <cstddef>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

#include "morph/access.h"

namespace thrust {
namespace detail {

// An iterator over anything with a place: `Own` has `dereference()` and `shift(n)`, and `distance_to(other)`.
template <class Own, class Value, class Reference>
struct Iterator {
  using iterator_category = std::random_access_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using value_type = Value;
  using reference = Reference;
  using pointer = std::add_pointer_t<std::remove_reference_t<Reference>>;

  Reference operator*() const { return own().dereference(); }
  Reference operator[](difference_type n) const { return *(own() + n); }
  Own& operator+=(difference_type n) { return own().shift(n), own(); }
  Own& operator-=(difference_type n) { return own().shift(-n), own(); }
  Own& operator++() { return own() += 1; }
  Own& operator--() { return own() -= 1; }
  Own operator++(int) { Own before = own(); own() += 1; return before; }
  Own operator--(int) { Own before = own(); own() -= 1; return before; }
  friend Own operator+(Own a, difference_type n) { return a += n; }
  friend Own operator+(difference_type n, Own a) { return a += n; }
  friend Own operator-(Own a, difference_type n) { return a -= n; }
  friend difference_type operator-(const Own& a, const Own& b) { return b.distance_to(a); }
  friend bool operator==(const Own& a, const Own& b) { return a - b == 0; }
  friend bool operator!=(const Own& a, const Own& b) { return a - b != 0; }
  friend bool operator<(const Own& a, const Own& b) { return a - b < 0; }
  friend bool operator>(const Own& a, const Own& b) { return a - b > 0; }
  friend bool operator<=(const Own& a, const Own& b) { return a - b <= 0; }
  friend bool operator>=(const Own& a, const Own& b) { return a - b >= 0; }

 private:
  Own& own() { return static_cast<Own&>(*this); }
  const Own& own() const { return static_cast<const Own&>(*this); }
};

template <class I> using ValueOf = std::decay_t<decltype(*std::declval<I>())>;

}  // namespace detail

using std::iterator_traits;
template <class I> struct iterator_difference { using type = typename std::iterator_traits<I>::difference_type; };
template <class I> struct iterator_pointer { using type = typename std::iterator_traits<I>::pointer; };
template <class I> struct iterator_reference { using type = typename std::iterator_traits<I>::reference; };
template <class I> struct iterator_value { using type = typename std::iterator_traits<I>::value_type; };

template <class T>
struct device_ptr : detail::Iterator<device_ptr<T>, std::remove_cv_t<T>, T&> {
  device_ptr() = default;
  device_ptr(std::nullptr_t) {}
  template <class U> explicit device_ptr(U* raw) : raw_(raw) {}
  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  device_ptr(const device_ptr<U>& other) : raw_(other.get()) {}
  T* get() const { return raw_; }
  T* operator->() const { return morph_cuda::element(raw_); }
  explicit operator bool() const { return raw_ != nullptr; }
  T& dereference() const { return *morph_cuda::element(raw_); }
  void shift(std::ptrdiff_t n) { raw_ += n; }
  std::ptrdiff_t distance_to(const device_ptr& other) const { return other.raw_ - raw_; }

 private:
  T* raw_ = nullptr;
};
template <class T> device_ptr<T> device_pointer_cast(T* raw) { return device_ptr<T>(raw); }
template <class T> device_ptr<T> device_pointer_cast(device_ptr<T> pointer) { return pointer; }
template <class T> T* raw_pointer_cast(T* raw) { return raw; }
template <class T> T* raw_pointer_cast(device_ptr<T> pointer) { return pointer.get(); }

template <class T>
struct counting_iterator : detail::Iterator<counting_iterator<T>, T, T> {
  explicit counting_iterator(T at = T()) : at_(at) {}
  T dereference() const { return at_; }
  void shift(std::ptrdiff_t n) { at_ += T(n); }
  std::ptrdiff_t distance_to(const counting_iterator& other) const { return std::ptrdiff_t(other.at_) - std::ptrdiff_t(at_); }

 private:
  T at_;
};
template <class T> counting_iterator<T> make_counting_iterator(T at) { return counting_iterator<T>(at); }

template <class T>
struct constant_iterator : detail::Iterator<constant_iterator<T>, T, T> {
  explicit constant_iterator(T value = T(), std::ptrdiff_t at = 0) : value_(value), at_(at) {}
  T dereference() const { return value_; }
  void shift(std::ptrdiff_t n) { at_ += n; }
  std::ptrdiff_t distance_to(const constant_iterator& other) const { return other.at_ - at_; }

 private:
  T value_;
  std::ptrdiff_t at_;
};
template <class T> constant_iterator<T> make_constant_iterator(T value) { return constant_iterator<T>(value); }

template <class F, class I, class R = std::invoke_result_t<F, typename std::iterator_traits<I>::reference>>
struct transform_iterator : detail::Iterator<transform_iterator<F, I, R>, std::decay_t<R>, R> {
  transform_iterator(I at, F function) : at_(at), function_(function) {}
  R dereference() const { return function_(*at_); }
  void shift(std::ptrdiff_t n) { at_ += n; }
  std::ptrdiff_t distance_to(const transform_iterator& other) const { return other.at_ - at_; }

 private:
  I at_;
  F function_;
};
template <class F, class I> transform_iterator<F, I> make_transform_iterator(I at, F function) { return {at, function}; }

template <class I, class Places>
struct permutation_iterator
    : detail::Iterator<permutation_iterator<I, Places>, detail::ValueOf<I>, typename std::iterator_traits<I>::reference> {
  permutation_iterator(I from, Places at) : from_(from), at_(at) {}
  auto& base() const { return at_; }
  typename std::iterator_traits<I>::reference dereference() const { return from_[*at_]; }
  void shift(std::ptrdiff_t n) { at_ += n; }
  std::ptrdiff_t distance_to(const permutation_iterator& other) const { return other.at_ - at_; }

 private:
  I from_;
  Places at_;
};
template <class I, class P> permutation_iterator<I, P> make_permutation_iterator(I from, P at) { return {from, at}; }

template <class Iterators> struct zip_iterator;
template <class... I>
struct zip_iterator<std::tuple<I...>>
    : detail::Iterator<zip_iterator<std::tuple<I...>>, std::tuple<detail::ValueOf<I>...>,
                       std::tuple<typename std::iterator_traits<I>::reference...>> {
  using Reference = std::tuple<typename std::iterator_traits<I>::reference...>;
  zip_iterator(std::tuple<I...> at) : at_(at) {}
  const std::tuple<I...>& get_iterator_tuple() const { return at_; }
  Reference dereference() const {
    return std::apply([](auto... each) { return Reference(*each...); }, at_);
  }
  void shift(std::ptrdiff_t n) {
    std::apply([n](auto&... each) { ((each += n), ...); }, at_);
  }
  std::ptrdiff_t distance_to(const zip_iterator& other) const { return std::get<0>(other.at_) - std::get<0>(at_); }

 private:
  std::tuple<I...> at_;
};
template <class... I> zip_iterator<std::tuple<I...>> make_zip_iterator(std::tuple<I...> at) { return {at}; }
template <class... I> zip_iterator<std::tuple<I...>> make_zip_iterator(I... at) { return {std::make_tuple(at...)}; }

struct discard_iterator_assignee {
  template <class T> const discard_iterator_assignee& operator=(const T&) const { return *this; }
};
struct discard_iterator : detail::Iterator<discard_iterator, discard_iterator_assignee, discard_iterator_assignee> {
  discard_iterator_assignee dereference() const { return {}; }
  void shift(std::ptrdiff_t n) { at_ += n; }
  std::ptrdiff_t distance_to(const discard_iterator& other) const { return other.at_ - at_; }

 private:
  std::ptrdiff_t at_ = 0;
};
inline discard_iterator make_discard_iterator() { return {}; }

using std::advance;
using std::distance;
using std::make_reverse_iterator;
using std::reverse_iterator;

}  // namespace thrust
