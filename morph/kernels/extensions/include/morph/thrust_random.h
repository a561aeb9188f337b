// thrust's generators and distributions of random numbers, with thrust's own sequences, and its shuffles.
#pragma once

#include <cstdint>

#include "morph/thrust_algorithms.h"

namespace thrust {
namespace random {

template <class U, U a, U c, U m>
class linear_congruential_engine {
 public:
  using result_type = U;
  static constexpr U multiplier = a, increment = c, modulus = m, min = c == 0, max = m - 1, default_seed = 1;

  explicit linear_congruential_engine(U value = default_seed) { seed(value); }
  void seed(U value = default_seed) {
    U start = value % m;
    state_ = c == 0 && start == 0 ? 1 : start;
  }
  U operator()() { return state_ = U((uint64_t(state_) * a + c) % m); }
  void discard(unsigned long long count) {
    for (uint64_t factor = a, sum = c; count; count /= 2) {
      if (count % 2) state_ = U((state_ * factor + sum) % m);
      sum = (factor * sum + sum) % m, factor = factor * factor % m;
    }
  }
  bool operator==(const linear_congruential_engine& other) const { return state_ == other.state_; }
  bool operator!=(const linear_congruential_engine& other) const { return state_ != other.state_; }

 private:
  static_assert(sizeof(U) <= 4 && m != 0);
  U state_;
};
using minstd_rand0 = linear_congruential_engine<uint32_t, 16807, 0, 2147483647>;
using minstd_rand = linear_congruential_engine<uint32_t, 48271, 0, 2147483647>;
using default_random_engine = minstd_rand;

template <class T>
class Uniform {
 public:
  using result_type = T;
  using param_type = std::pair<T, T>;
  explicit Uniform(const param_type& bounds) : bounds_(bounds) {}
  void reset() {}
  T a() const { return bounds_.first; }
  T b() const { return bounds_.second; }
  param_type param() const { return bounds_; }
  void param(const param_type& bounds) { bounds_ = bounds; }
  T min() const { return a(); }
  T max() const { return b(); }
  bool operator==(const Uniform& other) const { return bounds_ == other.bounds_; }
  bool operator!=(const Uniform& other) const { return bounds_ != other.bounds_; }

 protected:
  param_type bounds_;
};

template <class T = double>
class uniform_real_distribution : public Uniform<T> {
 public:
  using typename Uniform<T>::param_type;
  using Uniform<T>::Uniform;
  explicit uniform_real_distribution(T a = 0, T b = 1) : Uniform<T>({a, b}) {}
  template <class G> T operator()(G& generator) { return (*this)(generator, this->bounds_); }
  template <class G>
  T operator()(G& generator, const param_type& bounds) {
    T part = T(generator() - G::min) / (T(1) + T(G::max - G::min));
    return part * (bounds.second - bounds.first) + bounds.first;
  }
};
template <class T = int>
class uniform_int_distribution : public Uniform<T> {
 public:
  using typename Uniform<T>::param_type;
  using Uniform<T>::Uniform;
  explicit uniform_int_distribution(T a = 0, T b = std::numeric_limits<T>::max()) : Uniform<T>({a, b}) {}
  template <class G> T operator()(G& generator) { return (*this)(generator, this->bounds_); }
  template <class G>
  T operator()(G& generator, const param_type& bounds) {
    return T(uniform_real_distribution<double>(double(bounds.first), double(bounds.second) + 1)(generator));
  }
};

}  // namespace random

using random::default_random_engine;
using random::linear_congruential_engine;
using random::minstd_rand;
using random::minstd_rand0;
using random::uniform_int_distribution;
using random::uniform_real_distribution;

namespace detail {

// Each order is as likely as another; which one a generator makes is not thrust's.
template <class I, class G>
void shuffle(I first, I last, G&& generator) {
  for (auto left = last - first; left > 1; left--) {
    auto chosen = random::uniform_int_distribution<int64_t>(0, left - 1)(generator);
    auto kept = ValueOf<I>(first[left - 1]);
    first[left - 1] = ValueOf<I>(first[chosen]), first[chosen] = kept;
  }
}
template <class I, class O, class G>
void shuffle_copy(I first, I last, O out, G&& generator) {
  auto values = values_of(first, last);
  detail::shuffle(values.begin(), values.end(), generator);
  for (auto& each : values) *out = each, ++out;
}

}  // namespace detail

template <class... A>
void shuffle(A&&... given) {
  auto call = [](auto&&... rest) { detail::shuffle(std::forward<decltype(rest)>(rest)...); };
  detail::without_policy("thrust::shuffle", call, std::forward<A>(given)...);
}
template <class... A>
void shuffle_copy(A&&... given) {
  auto call = [](auto&&... rest) { detail::shuffle_copy(std::forward<decltype(rest)>(rest)...); };
  detail::without_policy("thrust::shuffle_copy", call, std::forward<A>(given)...);
}

}  // namespace thrust
