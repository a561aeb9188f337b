// cuda::pipeline: copies in stages, of one thread or of threads of which some produce and some consume.
// libcu++, "Extended API", "Synchronization Primitives": https://nvidia.github.io/cccl/libcudacxx/extended_api.html
#pragma once

#include <chrono>
#include <cstring>

#include "morph/cuda_barrier.h"
#include "morph/shared.h"

namespace cuda {

enum class pipeline_role { producer, consumer };

template <thread_scope scope>
class pipeline;

template <thread_scope scope>
struct morph_stage {
  barrier<scope> produced, consumed;
};
template <thread_scope scope, uint8_t stages>
class pipeline_shared_state {
 public:
  pipeline_shared_state() = default;
  pipeline_shared_state(const pipeline_shared_state&) = delete;
  pipeline_shared_state& operator=(const pipeline_shared_state&) = delete;

 private:
  friend class pipeline<scope>;
  morph_stage<scope> stages_[stages];
  uint32_t users_;
};

template <thread_scope scope>
class pipeline {
 public:
  template <class Group, uint8_t stages>
  pipeline(const Group& group, pipeline_shared_state<scope, stages>& state, size_t producers, size_t consumers)
      : stages_(state.stages_), users_(&state.users_), count_(stages) {
    if (group.thread_rank() == 0) {
      for (morph_stage<scope>& each : state.stages_)
        init(&each.produced, ptrdiff_t(producers)), init(&each.consumed, ptrdiff_t(consumers));
      __atomic_store_n(users_, uint32_t(group.size()), __ATOMIC_RELEASE);
    }
    group.sync();
  }
  pipeline(pipeline&& other)
      : stages_(other.stages_), users_(other.users_), count_(other.count_), head_(other.head_), tail_(other.tail_),
        is_active_(::std::exchange(other.is_active_, false)) {}
  pipeline& operator=(pipeline&&) = delete;
  ~pipeline() {
    if (is_active_) quit();
  }
  template <class Group, uint8_t stages>
  static size_t producers_of(const Group& group, pipeline_shared_state<scope, stages>& state, pipeline_role role) {
    if (group.thread_rank() == 0) __atomic_store_n(&state.users_, 0, __ATOMIC_RELEASE);
    group.sync();
    if (role == pipeline_role::producer) __atomic_fetch_add(&state.users_, 1, __ATOMIC_ACQ_REL);
    group.sync();
    size_t producers = __atomic_load_n(&state.users_, __ATOMIC_ACQUIRE);
    group.sync();
    return producers;
  }

  // The first round over the stages finds them free.
  void producer_acquire() { stage(head_).consumed.wait_parity(head_ / count_ % 2 == 0); }
  void producer_commit() { stage(head_++).produced.arrive(); }
  void consumer_wait() { stage(tail_).produced.wait_parity(tail_ / count_ % 2); }
  void consumer_release() { stage(tail_++).consumed.arrive(); }
  template <class Duration>
  bool consumer_wait_for(const Duration& duration) {
    return stage(tail_).produced.try_wait_parity_for(tail_ / count_ % 2, duration);
  }
  template <class Clock, class Duration>
  bool consumer_wait_until(const ::std::chrono::time_point<Clock, Duration>& end) {
    return consumer_wait_for(end - Clock::now());
  }
  bool quit() {
    is_active_ = false;
    return __atomic_fetch_sub(users_, 1, __ATOMIC_ACQ_REL) == 1;
  }

 private:
  morph_stage<scope>& stage(uint64_t number) { return stages_[number % count_]; }

  morph_stage<scope>* stages_;
  uint32_t* users_;
  uint64_t count_, head_ = 0, tail_ = 0;
  bool is_active_ = true;
};

// A thread's own: the groups of copies that __pipeline_commit ends.
template <>
class pipeline<thread_scope_thread> {
 public:
  pipeline(pipeline&&) = default;
  pipeline& operator=(pipeline&&) = delete;
  void producer_acquire() {}
  void producer_commit() { ::morph_cuda::end_group_of_copies(), committed_++; }
  void consumer_wait() {
    if (waited_ < committed_) wait_prior(committed_ - waited_ - 1);
  }
  void consumer_release() {}
  template <class Duration>
  bool consumer_wait_for(const Duration&) { return consumer_wait(), true; }
  template <class Time>
  bool consumer_wait_until(const Time&) { return consumer_wait(), true; }
  bool quit() { return true; }

 private:
  friend pipeline make_pipeline();
  template <uint8_t left> friend void pipeline_consumer_wait_prior(pipeline&);
  pipeline() = default;
  void wait_prior(uint64_t left) {
    ::morph_cuda::wait_for_copies(left);
    waited_ = committed_ < left ? 0 : committed_ - left;
  }

  uint64_t committed_ = 0, waited_ = 0;
};

inline pipeline<thread_scope_thread> make_pipeline() { return {}; }
template <class Group, thread_scope scope, uint8_t stages>
inline pipeline<scope> make_pipeline(const Group& group, pipeline_shared_state<scope, stages>* state) {
  return {group, *state, size_t(group.size()), size_t(group.size())};
}
template <class Group, thread_scope scope, uint8_t stages>
inline pipeline<scope> make_pipeline(const Group& group, pipeline_shared_state<scope, stages>* state,
                                     size_t producers) {
  return {group, *state, producers, size_t(group.size()) - producers};
}
template <class Group, thread_scope scope, uint8_t stages>
inline pipeline<scope> make_pipeline(const Group& group, pipeline_shared_state<scope, stages>* state,
                                     pipeline_role role) {
  return make_pipeline(group, state, pipeline<scope>::producers_of(group, *state, role));
}

template <uint8_t left>
inline void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>& stages) {
  stages.wait_prior(left);
}
// The barrier's phase is to wait for the thread's copies, so they are made.
template <thread_scope scope>
inline void pipeline_producer_commit(pipeline<thread_scope_thread>&, barrier<scope>&) {
  ::morph_cuda::end_group_of_copies();
  ::morph_cuda::wait_for_copies(0);
}

template <class Shape, thread_scope scope>
inline async_contract_fulfillment memcpy_async(void* to, const void* from, Shape size, pipeline<scope>&) {
  if constexpr (scope == thread_scope_thread) {
    ::morph_cuda::copy_later(to, from, size_t(size), 0);
    return async_contract_fulfillment::async;
  } else {
    ::std::memcpy(to, from, size_t(size));
    return async_contract_fulfillment::none;
  }
}
template <class Group, class Shape, thread_scope scope>
inline async_contract_fulfillment memcpy_async(const Group& group, void* to, const void* from, Shape size,
                                               pipeline<scope>& stages) {
  auto part = ::morph_cuda::part_of(group, to, from, size_t(size));
  return memcpy_async(part.to, part.from, part.size, stages);
}

}  // namespace cuda
