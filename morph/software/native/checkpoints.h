// The blocks of a pool as they are at some time, and what puts them back: torch.compile's trees of graphs go back to
// the memory that an earlier graph left.
#pragma once

#include "device.h"

namespace software {

struct PoolState {
  c10::DeviceIndex device;
  MempoolId_t pool;
  std::vector<SegmentView> segments;
};

PoolState pool_state(c10::DeviceIndex index, MempoolId_t pool);

using Storages = std::vector<c10::StorageImpl*>;

void lay_out_pool(c10::DeviceIndex index, MempoolId_t pool, const std::vector<SegmentView>& as);  // memory.cpp

// The stale ones lose the blocks that are free in the state; the owners, which own nothing, get those that are taken.
void put_back(const PoolState& state, const Storages& stale, const Storages& owners);

void free_and_disown(c10::StorageImpl* storage);  // it keeps the address

}  // namespace software
