// cuda::counting_semaphore and cuda::binary_semaphore.
// libcu++, "Extended API", "Synchronization Primitives": https://nvidia.github.io/cccl/libcudacxx/extended_api.html
#pragma once

#include "morph/cuda_barrier.h"

namespace cuda {

template <thread_scope scope, ptrdiff_t most = ptrdiff_t(__INT_MAX__)>
class counting_semaphore {
 public:
  constexpr explicit counting_semaphore(ptrdiff_t count = 0) noexcept : count_(count) {}
  counting_semaphore(const counting_semaphore&) = delete;
  counting_semaphore& operator=(const counting_semaphore&) = delete;
  static constexpr ptrdiff_t max() noexcept { return most; }

  void release(ptrdiff_t update = 1) {
    count_.fetch_add(update, memory_order_release);
    if constexpr (scope == thread_scope_block) ::morph_cuda::wake(this);
  }
  bool try_acquire() noexcept {
    ptrdiff_t count = count_.load(memory_order_acquire);
    while (count > 0)
      if (count_.compare_exchange_weak(count, count - 1, memory_order_acquire)) return true;
    return false;
  }
  void acquire() {
    morph_wait<scope>(this, [&] { return try_acquire(); });
  }
  template <class Duration>
  bool try_acquire_for(const Duration& duration) {
    return morph_wait_for(this, duration, [&] { return try_acquire(); });
  }
  template <class Clock, class Duration>
  bool try_acquire_until(const ::std::chrono::time_point<Clock, Duration>& end) {
    return try_acquire_for(end - Clock::now());
  }

 private:
  atomic<ptrdiff_t, scope> count_;
};
template <thread_scope scope>
using binary_semaphore = counting_semaphore<scope, 1>;

namespace std {
template <ptrdiff_t most = ptrdiff_t(__INT_MAX__)>
using counting_semaphore = ::cuda::counting_semaphore<thread_scope_system, most>;
using binary_semaphore = ::cuda::binary_semaphore<thread_scope_system>;
}  // namespace std

}  // namespace cuda
