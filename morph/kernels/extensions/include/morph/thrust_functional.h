// thrust's function objects, tuples and execution policies.
#pragma once

#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "morph/access.h"
#include "morph/launch.h"
#include "morph/thrust_version.h"

namespace thrust {

using std::get;
using std::make_pair;
using std::make_tuple;
using std::pair;
using std::swap;
using std::tie;
using std::tuple;
using std::tuple_element;
using std::tuple_size;

#define MORPH_THRUST_OPERATION(NAME, EXPRESSION) \
  template <class T = void> struct NAME { \
    template <class A, class B> constexpr auto operator()(const A& a, const B& b) const { return EXPRESSION; } \
  };
MORPH_THRUST_OPERATION(plus, a + b)
MORPH_THRUST_OPERATION(minus, a - b)
MORPH_THRUST_OPERATION(multiplies, a * b)
MORPH_THRUST_OPERATION(divides, a / b)
MORPH_THRUST_OPERATION(modulus, a % b)
MORPH_THRUST_OPERATION(bit_and, a & b)
MORPH_THRUST_OPERATION(bit_or, a | b)
MORPH_THRUST_OPERATION(bit_xor, a ^ b)
MORPH_THRUST_OPERATION(equal_to, a == b)
MORPH_THRUST_OPERATION(not_equal_to, a != b)
MORPH_THRUST_OPERATION(less, a < b)
MORPH_THRUST_OPERATION(less_equal, a <= b)
MORPH_THRUST_OPERATION(greater, a > b)
MORPH_THRUST_OPERATION(greater_equal, a >= b)
MORPH_THRUST_OPERATION(logical_and, a && b)
MORPH_THRUST_OPERATION(logical_or, a || b)
MORPH_THRUST_OPERATION(maximum, a < b ? b : a)
MORPH_THRUST_OPERATION(minimum, b < a ? b : a)
#undef MORPH_THRUST_OPERATION
template <class T = void> struct negate { template <class A> constexpr auto operator()(const A& a) const { return -a; } };
template <class T = void> struct logical_not { template <class A> constexpr bool operator()(const A& a) const { return !a; } };
template <class T = void> struct square { template <class A> constexpr auto operator()(const A& a) const { return a * a; } };
template <class T = void> struct identity { template <class A> constexpr A operator()(const A& a) const { return a; } };

template <class A, class R> struct unary_function { using argument_type = A; using result_type = R; };
template <class A, class B, class R> struct binary_function {
  using first_argument_type = A;
  using second_argument_type = B;
  using result_type = R;
};
template <class T> constexpr T max(const T& a, const T& b) { return a < b ? b : a; }
template <class T> constexpr T min(const T& a, const T& b) { return b < a ? b : a; }

template <class T> struct device_ptr;

namespace detail {

struct Policy {};
struct OnHost : Policy {};
struct OnDevice : Policy {
  cudaStream_t stream = nullptr;
  bool blocks = true;
  constexpr OnDevice(cudaStream_t stream = nullptr, bool blocks = true) : stream(stream), blocks(blocks) {}
  OnDevice on(cudaStream_t other) const { return {other, blocks}; }
  template <class A> OnDevice operator()(A&&) const { return *this; }
};
template <class P> constexpr bool is_policy = std::is_base_of_v<Policy, std::decay_t<P>>;

// Without a policy thrust goes by the iterators, and takes a plain pointer for the host's.
template <class T> constexpr bool is_pointer_to_device = false;
template <class T> constexpr bool is_pointer_to_device<device_ptr<T>> = true;
template <class First, class... Rest>
constexpr bool has_plain_pointers =
    (std::is_pointer_v<std::decay_t<First>> || ... || std::is_pointer_v<std::decay_t<Rest>>) &&
    !(is_pointer_to_device<std::decay_t<First>> || ... || is_pointer_to_device<std::decay_t<Rest>>);
template <class First, class... Rest>
constexpr bool runs_on_host =
    is_policy<First> ? std::is_base_of_v<OnHost, std::decay_t<First>> : has_plain_pointers<First, Rest...>;

struct OnTheHost {
  OnTheHost(const char*, cudaStream_t, bool) {}
};

// Calls a function without the policy among the arguments; what is on the device may not be in a capture.
template <class F, class First, class... Rest>
decltype(auto) without_policy(const char* name, F&& function, First&& first, Rest&&... rest) {
  if constexpr (!std::is_base_of_v<OnHost, std::decay_t<First>>) morph_cuda::refuse_in_capture(nullptr);
  OnDevice how;
  if constexpr (std::is_base_of_v<OnDevice, std::decay_t<First>>) how = first;
  std::conditional_t<runs_on_host<First, Rest...>, OnTheHost, morph_cuda::AlgorithmsAccess> access(name, how.stream, how.blocks);
  if constexpr (is_policy<First>) return function(std::forward<Rest>(rest)...);
  else return function(std::forward<First>(first), std::forward<Rest>(rest)...);
}

}  // namespace detail

inline constexpr detail::OnHost host, seq;
inline constexpr detail::OnDevice device;
namespace system::cuda { inline constexpr detail::OnDevice par, par_nosync{nullptr, false}; }
namespace cuda { using namespace system::cuda; }
using device_execution_policy = detail::OnDevice;
using device_system_tag = detail::OnDevice;
using host_system_tag = detail::OnHost;

}  // namespace thrust
