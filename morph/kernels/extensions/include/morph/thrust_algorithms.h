// thrust's algorithms, one after the other on the host.
#pragma once

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

#include "morph/thrust_functional.h"
#include "morph/thrust_iterators.h"

namespace thrust {
namespace detail {

// One by one, as each access is watched where MORPH_SANITIZE asks for it.
template <class I>
std::vector<ValueOf<I>> values_of(I first, I last) {
  std::vector<ValueOf<I>> values;
  values.reserve(size_t(last - first));
  for (; first != last; ++first) values.push_back(*first);
  return values;
}

template <class I, class F = less<>>
void stable_sort(I first, I last, F before = {}) {
  auto values = values_of(first, last);
  std::stable_sort(values.begin(), values.end(), before);
  for (auto& each : values) *first = each, ++first;
}
template <class K, class V, class F = less<>>
void stable_sort_by_key(K first, K last, V values, F before = {}) {
  auto keys = values_of(first, last);
  auto kept = values_of(values, values + (last - first));
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return before(keys[a], keys[b]); });
  for (size_t i = 0; i < order.size(); i++) first[std::ptrdiff_t(i)] = keys[order[i]], values[std::ptrdiff_t(i)] = kept[order[i]];
}

template <class I, class T>
void fill(I first, I last, const T& value) {
  for (; first != last; ++first) *first = value;
}
template <class I, class N, class T>
I fill_n(I first, N n, const T& value) { return fill(first, first + n, value), first + n; }
template <class I, class T = ValueOf<I>>
void sequence(I first, I last, T value = T(0), T step = T(1)) {
  for (; first != last; ++first, value = T(value + step)) *first = value;
}
template <class I, class F>
void generate(I first, I last, F function) {
  for (; first != last; ++first) *first = function();
}
template <class I, class F>
void tabulate(I first, I last, F function) {
  for (std::ptrdiff_t i = 0; first + i != last; i++) first[i] = function(i);
}

template <class I, class O>
O copy(I first, I last, O out) {
  for (; first != last; ++first, ++out) *out = *first;
  return out;
}
template <class I, class N, class O>
O copy_n(I first, N n, O out) { return copy(first, first + n, out); }
template <class I, class O, class P>
O copy_if(I first, I last, O out, P wanted) {
  for (; first != last; ++first)
    if (wanted(*first)) *out = *first, ++out;
  return out;
}
template <class I, class S, class O, class P>
O copy_if(I first, I last, S stencil, O out, P wanted) {
  for (; first != last; ++first, ++stencil)
    if (wanted(*stencil)) *out = *first, ++out;
  return out;
}
template <class M, class I, class O>
O gather(M first, M last, I from, O out) {
  for (; first != last; ++first, ++out) *out = from[*first];
  return out;
}
template <class I, class M, class O>
void scatter(I first, I last, M places, O out) {
  for (; first != last; ++first, ++places) out[*places] = *first;
}

template <class I, class O, class F>
O transform(I first, I last, O out, F function) {
  for (; first != last; ++first, ++out) *out = function(*first);
  return out;
}
template <class I, class J, class O, class F>
O transform(I first, I last, J second, O out, F function) {
  for (; first != last; ++first, ++second, ++out) *out = function(*first, *second);
  return out;
}
template <class I, class F>
I for_each(I first, I last, F function) {
  for (; first != last; ++first) function(*first);
  return last;
}
template <class I, class N, class F>
I for_each_n(I first, N n, F function) { return for_each(first, first + n, function); }

template <class I, class T = ValueOf<I>, class F = plus<>>
T reduce(I first, I last, T value = T(), F function = {}) {
  for (; first != last; ++first) value = function(value, *first);
  return value;
}
template <class I, class U, class T, class F>
T transform_reduce(I first, I last, U unary, T value, F function) {
  for (; first != last; ++first) value = function(value, unary(*first));
  return value;
}
template <class I, class J, class T, class F = plus<>, class G = multiplies<>>
T inner_product(I first, I last, J second, T value, F add = {}, G multiply = {}) {
  for (; first != last; ++first, ++second) value = add(value, multiply(*first, *second));
  return value;
}
template <class K, class V, class L, class W, class E = equal_to<>, class F = plus<>>
pair<L, W> reduce_by_key(K first, K last, V values, L keys, W sums, E same = {}, F function = {}) {
  while (first != last) {
    ValueOf<K> key = *first;
    ValueOf<V> sum = *values;
    for (++first, ++values; first != last && same(key, *first); ++first, ++values) sum = function(sum, *values);
    *keys = key, ++keys, *sums = sum, ++sums;
  }
  return {keys, sums};
}

template <class I, class O, class F = plus<>>
O inclusive_scan(I first, I last, O out, F function = {}) {
  if (first == last) return out;
  ValueOf<O> running = *first;
  for (;; ++out) {
    *out = running;
    if (++first == last) return ++out;
    running = function(running, *first);
  }
}
template <class I, class O, class T = ValueOf<I>, class F = plus<>>
O exclusive_scan(I first, I last, O out, T running = T(), F function = {}) {
  for (; first != last; ++first, ++out) {
    ValueOf<I> value = *first;  // the output may be the input
    *out = running;
    running = function(running, value);
  }
  return out;
}
template <class I, class O, class U, class F>
O transform_inclusive_scan(I first, I last, O out, U unary, F function) {
  return inclusive_scan(make_transform_iterator(first, unary), make_transform_iterator(last, unary), out, function);
}
template <class I, class O, class U, class T, class F>
O transform_exclusive_scan(I first, I last, O out, U unary, T running, F function) {
  return exclusive_scan(make_transform_iterator(first, unary), make_transform_iterator(last, unary), out, running, function);
}
template <class I, class O, class F = minus<>>
O adjacent_difference(I first, I last, O out, F function = {}) {
  std::vector<ValueOf<I>> values(first, last);
  for (size_t i = 0; i < values.size(); i++, ++out) *out = i ? function(values[i], values[i - 1]) : values[i];
  return out;
}

template <class I, class E = equal_to<>>
I unique(I first, I last, E same = {}) {
  I out = first;
  for (I at = first; at != last; ++at)
    if (at == first || !same(out[-1], *at)) *out = *at, ++out;
  return out;
}
template <class I, class O, class E = equal_to<>>
O unique_copy(I first, I last, O out, E same = {}) {
  std::vector<ValueOf<I>> values(first, last);
  return copy(values.begin(), unique(values.begin(), values.end(), same), out);
}
template <class K, class V, class E = equal_to<>>
pair<K, V> unique_by_key(K first, K last, V values, E same = {}) {
  K out = first;
  V kept = values;
  for (K at = first; at != last; ++at, ++values)
    if (at == first || !same(out[-1], *at)) *out = *at, ++out, *kept = *values, ++kept;
  return {out, kept};
}
template <class I, class P>
I remove_if(I first, I last, P unwanted) {
  I out = first;
  for (; first != last; ++first)
    if (!unwanted(*first)) *out = *first, ++out;
  return out;
}
template <class I, class S, class P>
I remove_if(I first, I last, S stencil, P unwanted) {
  I out = first;
  for (; first != last; ++first, ++stencil)
    if (!unwanted(*stencil)) *out = *first, ++out;
  return out;
}
template <class I, class T>
I remove(I first, I last, const T& value) {
  return detail::remove_if(first, last, [kept = T(value)](const auto& each) { return each == kept; });
}
template <class I, class T>
void replace(I first, I last, const T& old, const T& value) {
  for (; first != last; ++first)
    if (*first == old) *first = value;
}

template <class I, class V, class O, class F>
O bounds(I first, I last, V values, V end, O out, F bound) {
  for (; values != end; ++values, ++out) *out = bound(first, last, *values);
  return out;
}
template <class I, class V, class O, class F = less<>>
O lower_bound(I first, I last, V values, V end, O out, F before = {}) {
  return bounds(first, last, values, end, out, [&](I a, I b, const auto& v) { return std::lower_bound(a, b, v, before) - a; });
}
template <class I, class V, class O, class F = less<>>
O upper_bound(I first, I last, V values, V end, O out, F before = {}) {
  return bounds(first, last, values, end, out, [&](I a, I b, const auto& v) { return std::upper_bound(a, b, v, before) - a; });
}
template <class I, class T>
I lower_bound(I first, I last, const T& value) { return std::lower_bound(first, last, value); }
template <class I, class T>
I upper_bound(I first, I last, const T& value) { return std::upper_bound(first, last, value); }

}  // namespace detail

// Each is called with a policy as its first argument, or without.
#define MORPH_THRUST(NAME, FUNCTION) \
  template <class... A> decltype(auto) NAME(A&&... given) { \
    return detail::without_policy("thrust::" #NAME, [](auto&&... rest) -> decltype(auto) { return FUNCTION(std::forward<decltype(rest)>(rest)...); }, \
                                  std::forward<A>(given)...); \
  }
#define MORPH_THRUST_OWN(NAME) MORPH_THRUST(NAME, detail::NAME)
#define MORPH_THRUST_STD(NAME) MORPH_THRUST(NAME, std::NAME)
MORPH_THRUST(sort, detail::stable_sort)
MORPH_THRUST(sort_by_key, detail::stable_sort_by_key)
MORPH_THRUST(uninitialized_fill, detail::fill)
MORPH_THRUST(uninitialized_copy, detail::copy)
MORPH_THRUST_OWN(stable_sort)
MORPH_THRUST_OWN(stable_sort_by_key)
MORPH_THRUST_OWN(fill)
MORPH_THRUST_OWN(fill_n)
MORPH_THRUST_OWN(sequence)
MORPH_THRUST_OWN(generate)
MORPH_THRUST_OWN(tabulate)
MORPH_THRUST_OWN(copy)
MORPH_THRUST_OWN(copy_n)
MORPH_THRUST_OWN(copy_if)
MORPH_THRUST_OWN(gather)
MORPH_THRUST_OWN(scatter)
MORPH_THRUST_OWN(transform)
MORPH_THRUST_OWN(for_each)
MORPH_THRUST_OWN(for_each_n)
MORPH_THRUST_OWN(reduce)
MORPH_THRUST_OWN(transform_reduce)
MORPH_THRUST_OWN(inner_product)
MORPH_THRUST_OWN(reduce_by_key)
MORPH_THRUST_OWN(inclusive_scan)
MORPH_THRUST_OWN(exclusive_scan)
MORPH_THRUST_OWN(transform_inclusive_scan)
MORPH_THRUST_OWN(transform_exclusive_scan)
MORPH_THRUST_OWN(adjacent_difference)
MORPH_THRUST_OWN(unique)
MORPH_THRUST_OWN(unique_copy)
MORPH_THRUST_OWN(unique_by_key)
MORPH_THRUST_OWN(remove)
MORPH_THRUST_OWN(remove_if)
MORPH_THRUST_OWN(replace)
MORPH_THRUST_OWN(lower_bound)
MORPH_THRUST_OWN(upper_bound)
MORPH_THRUST_STD(all_of)
MORPH_THRUST_STD(any_of)
MORPH_THRUST_STD(none_of)
MORPH_THRUST_STD(count)
MORPH_THRUST_STD(count_if)
MORPH_THRUST_STD(equal)
MORPH_THRUST_STD(find)
MORPH_THRUST_STD(find_if)
MORPH_THRUST_STD(is_sorted)
MORPH_THRUST_STD(max_element)
MORPH_THRUST_STD(merge)
MORPH_THRUST_STD(min_element)
MORPH_THRUST_STD(minmax_element)
MORPH_THRUST_STD(reverse)
#undef MORPH_THRUST
#undef MORPH_THRUST_OWN
#undef MORPH_THRUST_STD

}  // namespace thrust
