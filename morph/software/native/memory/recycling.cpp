// Most memory is taken again at once, by a result of the same size. The small block that was given back last is
// therefore freed at the next change: if that takes it, only the statistics change, as by a free and a take.
#include "memory/arena.h"
#include "memory/statistics.h"

namespace software {
namespace {

const Block* free_after(const Block* block) { return block->after && !block->after->used ? block->after : nullptr; }

}  // namespace

// With a free block before it, it would begin there.
bool Arena::may_be_recycled(const Block* block) const {
  return !block->segment->large && !block->awaited && (!block->before || block->before->used) && !is_recorded();
}

// Whether it is what a search would find, had it been freed and joined with the free block after it.
bool Arena::is_recycled(size_t size, c10::StreamId stream, MempoolId_t pool) const {
  const Segment& segment = *last_freed_->segment;
  if (size != last_freed_->size || stream != segment.stream || pool != segment.pool) return false;
  const Block* rest = free_after(last_freed_);
  return segment.free->is_smallest(size, size + (rest ? rest->size : 0), rest);
}

Block* Arena::recycle(size_t requested) {
  Block* block = std::exchange(last_freed_, nullptr);
  const Block* rest = free_after(block);
  bool whole = !block->before && (!block->after || (rest && !rest->after));
  // Freed and joined, it would be inactive unless it were the whole segment; the rest would not be any more.
  int64_t blocks = int64_t(!whole) - int64_t(rest != nullptr);
  int64_t bytes = whole ? rest ? -int64_t(rest->size) : 0 : int64_t(block->size);
  recycled_.blocks++;
  recycled_.bytes += int64_t(block->size);
  if (requested == block->requested) recycled_.requested += int64_t(requested);
  else {
    add(stats_.requested_bytes, false, -int64_t(block->requested));
    add(stats_.requested_bytes, false, int64_t(requested));
    block->requested = requested;
  }
  recycled_.inactive_blocks += std::abs(blocks);
  recycled_.inactive_bytes += std::abs(bytes);
  raise_for_a_while(stats_.inactive_split, blocks);
  raise_for_a_while(stats_.inactive_split_bytes, bytes);
  return block;
}

// Frees what was given back last, and brings the statistics up to date.
void Arena::settle() {
  if (Block* block = std::exchange(last_freed_, nullptr)) {
    make_free(block);
    settle_inactive(false);
  }
  if (!recycled_.blocks) return;
  for (auto [array, amount] : {std::pair(&stats_.allocation, recycled_.blocks), {&stats_.active, recycled_.blocks},
                               {&stats_.allocated_bytes, recycled_.bytes}, {&stats_.active_bytes, recycled_.bytes},
                               {&stats_.requested_bytes, recycled_.requested},
                               {&stats_.inactive_split, recycled_.inactive_blocks},
                               {&stats_.inactive_split_bytes, recycled_.inactive_bytes}})
    pass(*array, amount);
  recycled_ = {};
}

void Arena::settle_frees() { Settled here(*this); }

}  // namespace software
