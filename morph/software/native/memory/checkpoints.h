// A snapshot of a pool's blocks, and its restoration: torch.compile's trees of graphs return to
// the memory state after an earlier graph.
#pragma once

#include "device/device.h"

namespace software {

struct PoolState {
  c10::DeviceIndex device;
  MempoolId_t pool;
  std::vector<SegmentView> segments;
};

PoolState pool_state(c10::DeviceIndex index, MempoolId_t pool);

using Storages = std::vector<c10::StorageImpl*>;

void lay_out_pool(c10::DeviceIndex index, MempoolId_t pool, const std::vector<SegmentView>& as);  // memory.cpp

// Stale storages lose blocks that are free in the snapshot; the given owners, which are empty, get the allocated ones.
void put_back(const PoolState& state, const Storages& stale, const Storages& owners);

void free_and_disown(c10::StorageImpl* storage);  // the address stays

}  // namespace software
