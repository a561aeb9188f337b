// See checkpoints.h.
#include "memory/checkpoints.h"

#include "memory/arena.h"
#include "memory/memory.h"

#include <algorithm>
#include <set>

namespace software {
namespace {

using Addresses = std::set<void*>;

Addresses taken_in(const PoolState& state) {
  Addresses all;
  for (auto& segment : state.segments)
    for (auto& block : segment.blocks)
      if (block.used) all.insert(reinterpret_cast<void*>(block.address));
  return all;
}

void disown(c10::StorageImpl& storage) {
  auto& data = storage._mutable_data_ptr_no_checks();
  bool owned = data.compare_exchange_deleter(&free_device_memory, &c10::detail::deleteNothing);
  TORCH_CHECK(owned, "Expected standard deleter");
}

void own(c10::StorageImpl& storage) {
  void* start = storage.data_ptr().get();
  TORCH_CHECK(!storage.data_ptr().get_context(), "Not expecting deleter function");
  storage.set_data_ptr_noswap({start, start, &free_device_memory, storage.device()});
}

// Nothing is changed if one of them is invalid.
void check(const PoolState& state, const Addresses& before, const Addresses& after, const Storages& stale) {
  size_t gone = size_t(std::count_if(before.begin(), before.end(), [&](void* each) { return !after.count(each); }));
  TORCH_CHECK(stale.size() >= gone,
              "Any stale tensors which are being manually freed must be passed to set checkpoint");
  for (auto* storage : stale)
    TORCH_CHECK(before.count(storage->data_ptr().get()), "a stale tensor has no memory in the pool of the checkpoint");
  for (auto& segment : state.segments)
    TORCH_CHECK(pool_of(reinterpret_cast<void*>(segment.address)) == state.pool,
                "memory of the checkpoint has been given back since");
}

}  // namespace

void Arena::put_back(MempoolId_t pool, const std::vector<SegmentView>& state) {
  std::lock_guard lock(lock_);
  for (auto& [start, segment] : segments_)
    if (segment->pool == pool) free_all(*segment);
  for (auto& view : state) lay_out(*segments_.at(reinterpret_cast<char*>(view.address)), view);
}

void Arena::free_all(Segment& segment) {
  std::vector<Block*> used;
  for (Block* block = segment.block_at(segment.start); block; block = block->after)
    if (block->used) used.push_back(block);
  for (Block* block : used) make_free(block);
  figures_.settle(segment.large);
}

// For a segment that is one free block.
void Arena::lay_out(Segment& segment, const SegmentView& as) {
  for (auto& wanted : as.blocks) {
    Block* block = segment.block_at(reinterpret_cast<void*>(wanted.address));
    segment.free->erase(block);
    if (block->before) count_inactive(block, -1);
    split(block, wanted.size);
    if (wanted.used) make_used(block, wanted.requested);
    else make_cached(block);
  }
  figures_.settle(segment.large);
}

PoolState pool_state(c10::DeviceIndex index, MempoolId_t pool) {
  PoolState state{checked(index), pool, memory_segments()};
  std::erase_if(state.segments, [&](auto& each) { return each.device != state.device || each.pool != pool; });
  return state;
}

void put_back(const PoolState& state, const Storages& stale, const Storages& owners) {
  Addresses before = taken_in(pool_state(state.device, state.pool)), after = taken_in(state);
  check(state, before, after, stale);
  for (auto* storage : stale) disown(*storage);
  lay_out_pool(state.device, state.pool, state.segments);
  for (auto* storage : owners)
    if (after.count(storage->data_ptr().get())) own(*storage);
}

void free_and_disown(c10::StorageImpl* storage) {
  void* start = storage->data_ptr().get();
  disown(*storage);
  free_device_memory(start);
}

}  // namespace software
