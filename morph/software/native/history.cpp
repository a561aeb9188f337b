// The history of a device's memory, in the words of the snapshots of torch's caching allocators.
#include "arena.h"

#include <chrono>

namespace software {

void Arena::record_history(size_t entries) {
  std::lock_guard<std::mutex> lock(mutex_);
  kept_events_ = entries;
  events_.clear();
}

std::vector<MemoryEvent> Arena::history() {
  std::lock_guard<std::mutex> lock(mutex_);
  return {events_.begin(), events_.end()};
}

void Arena::note(const char* action, const void* address, size_t size, c10::StreamId stream) {
  if (!kept_events_) return;
  using namespace std::chrono;
  auto now = duration_cast<microseconds>(system_clock::now().time_since_epoch());
  events_.push_back({action, size_t(address), size, stream, now.count()});
  if (events_.size() > kept_events_) events_.pop_front();
}

}  // namespace software
