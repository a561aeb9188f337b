// The memory of one software device, with the accounting of torch's caching allocators: segments, split blocks,
// 512-byte rounding, two pools, one cache per stream.
#pragma once

#include "device/device.h"
#include "device/lines.h"
#include "memory/figures.h"
#include "memory/free_blocks.h"
#include "memory/history.h"
#include "memory/peaks.h"
#include "memory/spin_lock.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>

namespace software {

// The memory that programs can allocate: a GPU's driver reserves some for itself.
inline size_t usable_memory() {
  size_t all = settings().memory;
  return settings().type == c10::DeviceType::CUDA ? all - all / 128 : all;
}

class Arena {
 public:
  explicit Arena(c10::DeviceIndex device) : device_(device) {}

  Block* take(size_t requested, c10::StreamId stream, MempoolId_t pool);  // throws OutOfMemoryError
  [[noreturn]] void refuse_on_purpose(size_t requested);  // as where it does not fit
  void give_back(Segment* segment, void* pointer);
  std::string line_of_free(const void* block);  // of one that is kept
  void let_wait(Block* block);  // it counts as given back, but remains active until give_back
  // Memory that a program takes from CUDA's runtime itself, beside torch's caches; null where it does not fit.
  void* take_outside(size_t bytes, bool torchs = false);
  bool give_back_outside(Segment* segment);  // false if it is a segment of torch's
  size_t available();  // bytes that are neither reserved nor taken outside

  void release_cached();
  int64_t releases();  // how often all unused segments were freed; a GPU waits for all streams first

  c10::CachingDeviceAllocator::DeviceStats stats();
  void reset_peaks();
  void raise_peaks();  // to what is held now
  void reset_totals();

  // peaks.h
  Peaks::Found peaks();
  void note_level();

  void list(std::vector<SegmentView>& into);

  // A pool's unused memory stays reserved while the pool has an owner.
  void hold(MempoolId_t pool);
  void let_go(MempoolId_t pool);
  int holders(MempoolId_t pool);

  // checkpoints.cpp: restores a pool's earlier blocks.
  void put_back(MempoolId_t pool, const std::vector<SegmentView>& state);

  void forget_history();
  std::vector<MemoryEvent> history();
  Context context_of(const void* block);
  Context context_of_segment(const void* start);
  int file();  // the memory file that all segments lie in

  double fraction = 1.0;
  bool caching = true;  // if false, torch's memory is outside

 private:
  FreeBlocks& free(const Segment& segment);
  Block* cached(size_t size, c10::StreamId stream, MempoolId_t pool);
  Block* grow(size_t size, c10::StreamId stream, MempoolId_t pool);
  char* map(size_t bytes);
  void split(Block* block, size_t size);
  void make_used(Block* block, size_t requested);
  void make_free(Block* block);
  void make_cached(Block* block);
  void keep(Block* block, Line line);
  void free_kept(size_t most = 0);
  void free_all(Segment& segment);
  Block* make_block(Segment* segment, char* start, size_t size);
  void forget(Block* block);
  void lay_out(Segment& segment, const SegmentView& as);
  Block* join(Block* left, Block* right, Block* free);
  void release_unused_segments();
  void release_for_retry();
  void release(Block* block);
  bool fits(size_t bytes) const;
  size_t reserved() const;
  size_t left() const;
  [[noreturn]] void refuse(size_t size);
  [[noreturn]] void refuse_as_torch(size_t size);  // in the words of torch's own allocators
  void count_allocated(const Block* block, int sign);
  void count_active(const Block* block, int sign);
  void stop_counting(Block* block);
  void count_inactive(const Block* block, int sign);
  void count_segment(const Segment& segment, int sign);
  void note(const char* action, const void* address, size_t size, c10::StreamId stream, MempoolId_t pool = {0, 0}) {
    if (was_recorded()) [[unlikely]] record(action, address, size, stream, pool);
  }
  void record(const char* action, const void* address, size_t size, c10::StreamId stream, MempoolId_t pool);

  c10::DeviceIndex device_;
  SpinLock lock_;
  Figures figures_, of_segments_;
  Block* spare_ = nullptr;  // a list of blocks that are none any more, for the next splits: one in each operator
  Peaks peaks_;
  std::vector<std::unique_ptr<FreeBlocks>> free_;  // one for each pool, stream and kind of segment
  std::map<const char*, std::unique_ptr<Segment>> segments_;
  std::map<const char*, std::unique_ptr<Segment>> outside_;
  size_t outside_bytes_ = 0;
  std::map<MempoolId_t, int> holders_;
  struct Kept {
    Block* block;
    Line line;  // that gave it back
  };
  std::deque<Kept> kept_;
  size_t kept_bytes_ = 0;
  std::deque<MemoryEvent> events_;
  std::map<const void*, Context> contexts_, segment_contexts_;
  int file_ = -1;
  size_t end_ = 0;
  int64_t releases_ = 0;
  c10::CachingDeviceAllocator::DeviceStats counts_;  // of calls
};

// Memory that was given back and is given out again late, for MORPH_SANITIZE=memory: the bytes for each device.
inline size_t most_kept = 0;
void set_caching(bool enabled);  // memory.cpp: of every device
bool caches();

}  // namespace software
