// cuda::barrier, and copies that a phase of it waits for.
// libcu++, "Extended API", "Synchronization Primitives": https://nvidia.github.io/cccl/libcudacxx/extended_api.html
#pragma once

#include <chrono>
#include <cstring>

#include "morph/cuda_atomic.h"
#include "morph/shapes.h"

namespace cuda {

// A thread that waits lets others on until `is_over()`. One of its own block wakes it by the place.
template <thread_scope scope, class F>
inline void morph_wait(const void* place, F is_over) {
  while (!is_over()) {
    if constexpr (scope == thread_scope_block) ::morph_cuda::wait_at(place);
    else ::morph_cuda::looked(place);
  }
}
template <class Duration, class F>
inline bool morph_wait_for(const void* place, const Duration& duration, F is_over) {
  auto end = ::std::chrono::steady_clock::now() + duration;
  while (!is_over()) {
    ::morph_cuda::looked(place);
    if (::std::chrono::steady_clock::now() >= end) return is_over();
  }
  return true;
}

struct morph_no_completion {
  void operator()() const {}
};

// One word holds the number of the phase, how many threads arrive in each, and how many of them have yet to.
template <thread_scope scope, class Completion = morph_no_completion>
class barrier {
 public:
  using arrival_token = uint64_t;

  barrier() = default;
  barrier(ptrdiff_t expected, Completion completion = {}) { init(this, expected, completion); }
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;
  friend void init(barrier* at, ptrdiff_t expected, Completion completion = {}) {
    at->completion_ = completion;
    __atomic_store_n(&at->state_, uint64_t(expected) * (kOne | kOneExpected), __ATOMIC_RELEASE);
  }
  static constexpr ptrdiff_t max() noexcept { return ptrdiff_t(kMost); }

  arrival_token arrive(ptrdiff_t update = 1) { return arrive_by(uint64_t(update), uint64_t(update)); }
  void arrive_and_wait() { wait(arrive()); }
  void arrive_and_drop() { arrive_by(1, kOne | kOneExpected); }
  void wait(arrival_token&& token) const {
    morph_wait<scope>(this, [&] { return phase() != token; });
  }
  void wait_parity(bool parity) const {
    morph_wait<scope>(this, [&] { return (phase() & 1) != parity; });
  }
  template <class Duration>
  bool try_wait_for(arrival_token&& token, const Duration& duration) const {
    return morph_wait_for(this, duration, [&] { return phase() != token; });
  }
  template <class Duration>
  bool try_wait_parity_for(bool parity, const Duration& duration) const {
    return morph_wait_for(this, duration, [&] { return (phase() & 1) != parity; });
  }
  template <class Clock, class Duration>
  bool try_wait_until(arrival_token&& token, const ::std::chrono::time_point<Clock, Duration>& end) const {
    return try_wait_for(::std::move(token), end - Clock::now());
  }
  template <class Clock, class Duration>
  bool try_wait_parity_until(bool parity, const ::std::chrono::time_point<Clock, Duration>& end) const {
    return try_wait_parity_for(parity, end - Clock::now());
  }

 private:
  static constexpr uint64_t kBits = 20, kMost = (1 << kBits) - 1;
  static constexpr uint64_t kOne = 1, kOneExpected = 1 << kBits, kOnePhase = kOneExpected << kBits;

  uint64_t phase() const { return __atomic_load_n(&state_, __ATOMIC_ACQUIRE) / kOnePhase; }
  uint64_t arrive_by(uint64_t arrivals, uint64_t change) {
    uint64_t before = __atomic_fetch_sub(&state_, change, __ATOMIC_ACQ_REL);
    if (arrivals > (before & kMost))
      ::morph_cuda::fail("more threads arrive at a barrier than it expects", __FILE__, __LINE__, "cuda::barrier");
    if (arrivals && arrivals == (before & kMost)) begin_phase(before - change);
    return before / kOnePhase;
  }
  void begin_phase(uint64_t state) {
    completion_();
    __atomic_store_n(&state_, state + kOnePhase + (state / kOneExpected & kMost), __ATOMIC_RELEASE);
    if constexpr (scope == thread_scope_block) ::morph_cuda::wake(this);
  }

  alignas(8) uint64_t state_;
  [[no_unique_address]] Completion completion_;
};

enum class async_contract_fulfillment { none, async };

// Made at once, so that the phase need not wait for it.
template <class Shape, thread_scope scope, class Completion>
inline async_contract_fulfillment memcpy_async(void* to, const void* from, Shape size, barrier<scope, Completion>&) {
  ::std::memcpy(to, from, size_t(size));
  return async_contract_fulfillment::none;
}
template <class Group, class Shape, thread_scope scope, class Completion>
inline async_contract_fulfillment memcpy_async(const Group& group, void* to, const void* from, Shape size,
                                               barrier<scope, Completion>& at) {
  auto part = ::morph_cuda::part_of(group, to, from, size_t(size));
  return memcpy_async(part.to, part.from, part.size, at);
}

// What a program asks of the hardware's own barriers is an error of a build that calls it.
#define MORPH_NO_MBARRIER __attribute__((error("morph: the software device has no hardware barriers (mbarrier)")))
namespace device {
template <class Completion>
MORPH_NO_MBARRIER uint64_t* barrier_native_handle(barrier<thread_scope_block, Completion>&);
template <class... A>
MORPH_NO_MBARRIER uint64_t barrier_arrive_tx(barrier<thread_scope_block>&, A...);
template <class... A>
MORPH_NO_MBARRIER void barrier_expect_tx(barrier<thread_scope_block>&, A...);
template <class T, class Shape>
MORPH_NO_MBARRIER void memcpy_async_tx(T*, const T*, Shape, barrier<thread_scope_block>&);
}  // namespace device
#undef MORPH_NO_MBARRIER

namespace std {
template <class Completion = morph_no_completion>
using barrier = ::cuda::barrier<thread_scope_system, Completion>;
}  // namespace std

}  // namespace cuda
