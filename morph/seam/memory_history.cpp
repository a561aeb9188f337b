// The history of the host's allocator, for torch.cuda.memory's snapshots.
#include "memory_history.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>

namespace seam {
namespace {

std::atomic<bool> recording{false};
std::mutex mutex;  // guards what follows
size_t most = 0;
std::deque<MemoryEvent> events;
std::unordered_map<uint64_t, uint64_t> held;

void keep(bool allocated, uint64_t address, uint64_t bytes) {
  using namespace std::chrono;
  auto now = duration_cast<microseconds>(system_clock::now().time_since_epoch());
  events.push_back({allocated, address, bytes, now.count()});
  if (events.size() > most) events.pop_front();
}

}  // namespace

void record_memory_history(size_t most_events) {
  std::lock_guard<std::mutex> lock(mutex);
  recording = most_events > 0;
  most = most_events;
  events.clear();
  held.clear();
}

MemoryHistory memory_history() {
  std::lock_guard<std::mutex> lock(mutex);
  return {{events.begin(), events.end()}, held};
}

void note_allocated(const void* block, uint64_t bytes) {
  if (!recording.load(std::memory_order_relaxed)) return;
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t address = reinterpret_cast<uint64_t>(block);
  held[address] = bytes;
  keep(true, address, bytes);
}

void note_released(const void* block, uint64_t bytes) {
  if (!recording.load(std::memory_order_relaxed)) return;
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t address = reinterpret_cast<uint64_t>(block);
  if (held.erase(address) > 0) keep(false, address, bytes);
}

}  // namespace seam
