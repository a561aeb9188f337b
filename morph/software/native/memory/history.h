// The recorded memory events of a device, in the format of torch's allocator snapshots.
#pragma once

#include "device/device.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <atomic>
#include <set>
#include <string>

namespace software {

using Context = std::shared_ptr<c10::GatheredContext>;  // the frames of Python, and on request those of C++

struct MemoryEvent {
  const char* action;
  size_t address, size;  // of the event "oom", the address is the free memory
  c10::StreamId stream;
  MempoolId_t pool;
  int64_t microseconds;
  Context context;
  std::string metadata;
};

enum class Frames { kNone, kState, kAlloc, kAll };  // of live blocks, of allocations, and of frees
struct Recording {
  bool state = false, events = false;  // of live blocks; of every event
  Frames frames = Frames::kNone;
  bool of_native_code = false;
  size_t entries = 0;
  std::set<std::string> skipped;
};
const Recording& recording();
inline std::atomic<bool> ever_recorded{false};
inline bool was_recorded() { return ever_recorded.load(std::memory_order_relaxed); }
void set_recording(Recording wanted);

// The context of this thread's events. Frames are gathered before an arena is locked, since that takes the
// interpreter's lock.
class Remembered {
 public:
  explicit Remembered(bool allocates) : gathers_(was_recorded() && recording().state) {
    if (gathers_) [[unlikely]] gather(allocates);
  }
  ~Remembered() {
    if (gathers_) [[unlikely]] forget();
  }

 private:
  void gather(bool allocates);
  void forget();
  bool gathers_;
};
const Context& remembered();
void set_metadata(std::string text);
const std::string& metadata();

using OutOfMemoryObserver = std::function<void(int64_t device, int64_t wanted, int64_t total, int64_t free)>;
void observe_refused_memory(OutOfMemoryObserver observer);
void tell_of_refused_memory(c10::DeviceIndex index, size_t wanted);

// arena.cpp and memory.cpp
std::vector<std::vector<MemoryEvent>> memory_history();
void forget_memory_history();
Context context_of(const void* block);          // of a block's allocation, or null
Context context_of_segment(const void* start);  // of a segment's

// Memory that is given back from now on is given out again when more than so many bytes of a device came after it, or
// 32 times as many in a few blocks.
void keep_freed(size_t bytes);
std::string line_of_free(const void* block);  // of a block that is kept, else empty

}  // namespace software
