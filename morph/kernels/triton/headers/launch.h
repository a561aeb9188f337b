// Runs the instances of a program over threads.
#pragma once
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include "numbers.h"

struct Instance {
  int x, y, z;
};
struct Grid {
  int x, y, z;
};

// What the threads of one launch share.
struct Launch {
  const char* arguments;
  Grid grid;
  long long count;
  const long long* order;  // of the instances; null for that of their numbers
  long long next;
  int running, waiting, failed;
  size_t stack;
  int number;  // among the launches of this library
  pthread_t helpers[1024];
  int helpers_started;
  char message[1024];
};

static thread_local Launch* launch_of_thread;

static void run(const Launch& launch, Instance instance);  // the kernel

static inline bool has_failed(const Launch& launch) { return __atomic_load_n(&launch.failed, __ATOMIC_RELAXED); }

// Ends the launch with a message, which becomes an exception's.
static void fail(Launch& launch, const char* format, ...) {
  int nobody = 0;
  if (!__atomic_compare_exchange_n(&launch.failed, &nobody, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return;
  va_list values;
  va_start(values, format);
  std::vsnprintf(launch.message, sizeof launch.message, format, values);
  va_end(values);
}

struct Stopped {};  // leaves an instance of a launch that has failed

static void work(Launch& launch) {
  launch_of_thread = &launch;
  for (;;) {
    long long taken = __atomic_fetch_add(&launch.next, 1, __ATOMIC_RELAXED);
    if (taken >= launch.count || has_failed(launch)) break;
    long long number = launch.order ? launch.order[taken] : taken;
    long long plane = (long long)launch.grid.x * launch.grid.y;
    try {
      run(launch, {int(number % launch.grid.x), int(number % plane / launch.grid.x), int(number / plane)});
    } catch (const Stopped&) {
    }
  }
  __atomic_fetch_sub(&launch.running, 1, __ATOMIC_SEQ_CST);
}

static void* help(void* launch) {
  work(*static_cast<Launch*>(launch));
  return nullptr;
}

static bool start_helper(Launch& launch) {
  int number = __atomic_fetch_add(&launch.helpers_started, 1, __ATOMIC_SEQ_CST);
  if (number >= 1024) return false;
  __atomic_fetch_add(&launch.running, 1, __ATOMIC_SEQ_CST);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, launch.stack);
  bool is_started = pthread_create(&launch.helpers[number], &attributes, help, &launch) == 0;
  pthread_attr_destroy(&attributes);
  if (!is_started) {
    launch.helpers[number] = 0;
    __atomic_fetch_sub(&launch.running, 1, __ATOMIC_SEQ_CST);
  }
  return is_started;
}

// Called in each turn of a loop that may wait for what another instance writes. If all threads wait, one more is
// started for an instance that has not begun; if there is none, nobody will ever write.
static constexpr int kPatience = 30;  // seconds

struct Waiting {
  long long turns = 0;
  timespec since = {};
  bool is_counted = false;
  ~Waiting() { leave(); }
  void leave() {
    if (is_counted) __atomic_fetch_sub(&launch_of_thread->waiting, 1, __ATOMIC_SEQ_CST);
    is_counted = false;
  }
  void turn() {
    if (++turns & 0xfff) return;
    Launch& launch = *launch_of_thread;
    if (has_failed(launch)) throw Stopped();
    if (turns < 0x8000) return (void)sched_yield();
    if (!is_counted) {
      __atomic_fetch_add(&launch.waiting, 1, __ATOMIC_SEQ_CST);
      clock_gettime(CLOCK_MONOTONIC, &since);
      is_counted = true;
    }
    if (__atomic_load_n(&launch.waiting, __ATOMIC_SEQ_CST) < __atomic_load_n(&launch.running, __ATOMIC_SEQ_CST))
      return (void)sched_yield();
    bool have_all_begun = __atomic_load_n(&launch.next, __ATOMIC_SEQ_CST) >= launch.count;
    if (!have_all_begun && start_helper(launch)) return;
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - since.tv_sec > kPatience) fail(launch, "its instances wait for each other");
    sched_yield();
  }
};

static long long now_in_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

// Waits until `expected` lies at `place`; returns whether it does before a limit in nanoseconds, unless that is negative.
template <class T>
static bool poll(const T* place, T expected, long long limit) {
  Waiting waiting;
  long long begin = limit < 0 ? 0 : now_in_nanoseconds();
  while (__atomic_load_n(place, __ATOMIC_SEQ_CST) != expected) {
    if (limit >= 0 && now_in_nanoseconds() - begin >= limit) return false;
    waiting.turn();
  }
  return true;
}

// Returns null, or the message of the failure.
extern "C" __attribute__((visibility("default"))) const char* launch_kernel(
    const char* arguments, int x, int y, int z, int threads, const long long* order, size_t stack) {
  static thread_local char message[1024];
  Launch* launch = static_cast<Launch*>(std::calloc(1, sizeof(Launch)));
  launch->arguments = arguments;
  launch->grid = {x, y, z};
  launch->count = (long long)x * y * z;
  static int launches = 0;
  launch->number = __atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED);
  launch->order = order;
  launch->stack = stack + (1 << 20);
  bool is_deep = stack > (1 << 20);  // the caller's own stack may be too small
  if (threads > launch->count) threads = int(launch->count);
  for (int helper = is_deep ? 0 : 1; helper < threads; ++helper) start_helper(*launch);
  if (!is_deep) {
    __atomic_fetch_add(&launch->running, 1, __ATOMIC_SEQ_CST);
    work(*launch);
  }
  for (int helper = 0; helper < launch->helpers_started && helper < 1024; ++helper)
    if (launch->helpers[helper]) pthread_join(launch->helpers[helper], nullptr);
  bool failed = has_failed(*launch);
  if (failed) std::memcpy(message, launch->message, sizeof message);
  std::free(launch);
  return failed ? message : nullptr;
}
