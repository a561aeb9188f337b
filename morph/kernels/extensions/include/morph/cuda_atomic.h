// cuda::atomic and cuda::atomic_ref, of any scope: all threads have one memory here.
// libcu++, "Extended API", "Atomics" and "Thread scopes": https://nvidia.github.io/cccl/libcudacxx/extended_api.html
#pragma once

#include <atomic>
#include <cstddef>
#include <type_traits>

#include "morph/atomics.h"
#include "morph/cuda_std.h"

namespace cuda {

enum thread_scope {
  thread_scope_system = 0,
  thread_scope_device = 1,
  thread_scope_block = 2,
  thread_scope_thread = 10,
};

using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;

inline void atomic_thread_fence(memory_order order, thread_scope = thread_scope_system) {
  if (order != memory_order_relaxed) __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void atomic_signal_fence(memory_order) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

// What both have; Self tells the address. A thread that looks again and again at what does not change lets others on.
template <class Self, class T>
class morph_atomic {
 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = true;
  static_assert(::std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "an atomic object of at most 8 bytes");

  bool is_lock_free() const noexcept { return true; }
  T load(memory_order order = memory_order_seq_cst) const noexcept {
    ::morph_cuda::looked(at());
    T value;
    __atomic_load(at(), &value, int(order));
    return value;
  }
  void store(T value, memory_order order = memory_order_seq_cst) const noexcept {
    __atomic_store(at(), &value, int(order));
  }
  T exchange(T value, memory_order order = memory_order_seq_cst) const noexcept {
    return change([=](T) { return value; }, order);
  }
  bool compare_exchange_strong(T& expected, T value, memory_order order, memory_order failure) const noexcept {
    if (__atomic_compare_exchange(at(), &expected, &value, false, int(order), int(failure))) return true;
    ::morph_cuda::looked(at());
    return false;
  }
  bool compare_exchange_strong(T& expected, T value, memory_order order = memory_order_seq_cst) const noexcept {
    return compare_exchange_strong(expected, value, order, after_failure(order));
  }
  template <class... Orders>
  bool compare_exchange_weak(T& expected, T value, Orders... orders) const noexcept {
    return compare_exchange_strong(expected, value, orders...);
  }
  template <class D>
  T fetch_add(D value, memory_order order = memory_order_seq_cst) const noexcept {
    return change([=](T old) { return sum(old, value); }, order);
  }
  template <class D>
  T fetch_sub(D value, memory_order order = memory_order_seq_cst) const noexcept {
    return change([=](T old) { return difference(old, value); }, order);
  }
  T fetch_and(T value, memory_order order = memory_order_seq_cst) const noexcept {
    return change([=](T old) { return T(old & value); }, order);
  }
  T fetch_or(T value, memory_order order = memory_order_seq_cst) const noexcept {
    return change([=](T old) { return T(old | value); }, order);
  }
  T fetch_xor(T value, memory_order order = memory_order_seq_cst) const noexcept {
    return change([=](T old) { return T(old ^ value); }, order);
  }
  T fetch_min(T value, memory_order order = memory_order_seq_cst) const noexcept {
    return change([=](T old) { return value < old ? value : old; }, order);
  }
  T fetch_max(T value, memory_order order = memory_order_seq_cst) const noexcept {
    return change([=](T old) { return old < value ? value : old; }, order);
  }
  void wait(T old, memory_order order = memory_order_seq_cst) const noexcept {
    while (load(order) == old) {}
  }
  void notify_one() const noexcept {}
  void notify_all() const noexcept {}

  operator T() const noexcept { return load(); }
  T operator=(T value) const noexcept { return store(value), value; }
  T operator++() const noexcept { return sum(fetch_add(1), 1); }
  T operator++(int) const noexcept { return fetch_add(1); }
  T operator--() const noexcept { return difference(fetch_sub(1), 1); }
  T operator--(int) const noexcept { return fetch_sub(1); }
  template <class D> T operator+=(D value) const noexcept { return sum(fetch_add(value), value); }
  template <class D> T operator-=(D value) const noexcept { return difference(fetch_sub(value), value); }
  T operator&=(T value) const noexcept { return T(fetch_and(value) & value); }
  T operator|=(T value) const noexcept { return T(fetch_or(value) | value); }
  T operator^=(T value) const noexcept { return T(fetch_xor(value) ^ value); }

 private:
  using Word = typename ::morph_cuda::Word<sizeof(T)>::type;

  T* at() const { return static_cast<const Self*>(this)->morph_address(); }

  static constexpr memory_order after_failure(memory_order order) {
    if (order == memory_order_acq_rel) return memory_order_acquire;
    return order == memory_order_release ? memory_order_relaxed : order;
  }
  // Integers wrap around.
  template <class D>
  static T sum(T old, D value) {
    if constexpr (::std::is_integral_v<T>) return T(Word(old) + Word(T(value)));
    else return T(old + value);
  }
  template <class D>
  static T difference(T old, D value) {
    if constexpr (::std::is_integral_v<T>) return T(Word(old) - Word(T(value)));
    else return T(old - value);
  }
  template <class F>
  T change(F f, memory_order order) const {
    T before, after;
    __atomic_load(at(), &before, __ATOMIC_RELAXED);
    do after = f(before);
    while (!__atomic_compare_exchange(at(), &before, &after, true, int(order), __ATOMIC_RELAXED));
    if (!__builtin_memcmp(&before, &after, sizeof(T))) ::morph_cuda::looked(at());
    return before;
  }
};

template <class T, thread_scope scope = thread_scope_system>
class atomic : public morph_atomic<atomic<T, scope>, T> {
  using Operations = morph_atomic<atomic, T>;
  friend Operations;

 public:
  atomic() noexcept = default;
  constexpr atomic(T value) noexcept : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  using Operations::operator=;

 private:
  T* morph_address() const { return const_cast<T*>(&value_); }
  alignas(sizeof(T)) T value_;
};

template <class T, thread_scope scope = thread_scope_system>
class atomic_ref : public morph_atomic<atomic_ref<T, scope>, T> {
  using Operations = morph_atomic<atomic_ref, T>;
  friend Operations;

 public:
  static constexpr size_t required_alignment = sizeof(T);
  explicit atomic_ref(T& value) noexcept : value_(&value) {}
  atomic_ref(const atomic_ref&) noexcept = default;
  atomic_ref& operator=(const atomic_ref&) = delete;
  using Operations::operator=;

 private:
  T* morph_address() const { return value_; }
  T* value_;
};

namespace std {
template <class T> using atomic = ::cuda::atomic<T>;
template <class T> using atomic_ref = ::cuda::atomic_ref<T>;
}  // namespace std

}  // namespace cuda
