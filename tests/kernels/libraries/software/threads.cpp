// Threads that Python has not made: they take and free memory at once, and gather calls.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

struct Attributes {
  int type, device;
  void *here, *host;
};

// Returns how often memory was not of the kind that it had been taken as.
extern "C" int count_wrong_kinds(int (*take)(void**, size_t, unsigned), int (*ask)(Attributes*, const void*), int (*free)(void*),
                                 int rounds, int kind) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int each = 0; each < 4; ++each)
    threads.emplace_back([&] {
      for (int round = 0; round < rounds; ++round) {
        void* pointer = nullptr;
        Attributes found{};
        take(&pointer, 512, 1);
        std::this_thread::yield();
        ask(&found, pointer);
        wrong += found.type != kind;
        free(pointer);
      }
    });
  for (auto& each : threads) each.join();
  return wrong;
}

// Returns the greatest code of the calls of a thread of its own, which begins a group twice and ends it.
extern "C" int greatest_code_of_a_group(int (*start)(), int (*end)()) {
  int greatest = 0;
  std::thread([&] {
    for (auto call : {start, start, end, end}) greatest = std::max(greatest, call());
  }).join();
  return greatest;
}
