// Segments, their blocks, and the free blocks of one pool, found by size.
#pragma once

#include "device/device.h"

#include <array>
#include <set>
#include <vector>

namespace software {

struct Block;
class FreeBlocks;

struct Segment {
  c10::DeviceIndex device;
  char* start;
  size_t size, offset;  // offset in the memory file of the device
  c10::StreamId stream;
  MempoolId_t pool;
  bool large;
  FreeBlocks* free = nullptr;      // the list of its free blocks
  std::vector<Block*> blocks = {};  // by their start, in units of which each holds at most one start
  bool is_uncached = false;        // torch's, beside its caches
  size_t requested = 0;            // bytes, of one beside the caches
  bool is_open = false;            // of hidden memory: it can be used at the address that programs know
  Segment* opened_before = nullptr;

  size_t unit() const { return large ? 1024 * 1024 : 512; }  // large blocks are larger than this
  Block*& block_at(const void* pointer) { return blocks[size_t(static_cast<const char*>(pointer) - start) / unit()]; }
};

struct Block {
  Segment* segment;
  char* start;
  size_t size, requested = 0;
  Block *before = nullptr, *after = nullptr;  // neighbours in the segment
  bool used = false, awaited = false;  // awaited: given back, but work of other streams uses it
  bool kept = false;                   // given back, but not given out again yet: a use of it is an error
  Block *newer = nullptr, *older = nullptr;  // free blocks of the same size
};

// Finds the smallest block that is large enough, the most recently freed first. Small blocks have a list for each
// size; the few large ones are sorted.
class FreeBlocks {
 public:
  FreeBlocks(bool large, c10::StreamId stream, MempoolId_t pool)
      : large_(large), stream_(stream), pool_(pool), lists_(large ? 0 : kLists) {}

  bool serves(bool large, c10::StreamId stream, MempoolId_t pool) const {
    return large == large_ && stream == stream_ && pool == pool_;
  }
  void insert(Block* block);
  void erase(Block* block);
  Block* take(size_t size);  // null if there is none
  std::vector<Block*> whole_segments() const;

 private:
  static constexpr size_t kUnit = 512, kLists = 4096 + 1;  // up to a whole segment of small blocks
  static constexpr size_t kWords = kLists / 64 + 1;
  struct BySize {
    bool operator()(const Block* a, const Block* b) const {
      return std::tie(a->size, a->start) < std::tie(b->size, b->start);
    }
  };
  size_t first_list(size_t from) const;  // the first one that is not empty, or kLists

  bool large_;
  c10::StreamId stream_;
  MempoolId_t pool_;
  std::set<Block*, BySize> ordered_;
  std::vector<Block*> lists_;
  std::array<uint64_t, kWords> filled_{};
  std::array<uint64_t, 2> filled_words_{};
};

}  // namespace software
