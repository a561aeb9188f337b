// What the host's allocator gave and took back, while it is recorded.
#pragma once
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace seam {

struct MemoryEvent {
  bool allocated;
  uint64_t address, bytes;
  int64_t microseconds;  // of the system's clock
};

struct MemoryHistory {
  std::vector<MemoryEvent> events;                // the newest, oldest first
  std::unordered_map<uint64_t, uint64_t> blocks;  // held, of those allocated while recorded: address to bytes
};

// Keeps that many events from now on, and lets go of what was kept; 0 ends the recording.
void record_memory_history(size_t most_events);
MemoryHistory memory_history();
// Called for every block; costs one load while nothing is recorded.
void note_allocated(const void* block, uint64_t bytes);
void note_released(const void* block, uint64_t bytes);

}  // namespace seam
