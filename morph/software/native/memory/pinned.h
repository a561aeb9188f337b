// torch's allocator of pinned host memory, if the installed release declares one (torch 2.8).
#pragma once

#include "device/device.h"

#include <ATen/core/CachingHostAllocator.h>

namespace at {
struct HostAllocator;
}

namespace software {

struct PinnedFigures {
  c10::CachingAllocator::Stat allocations, allocated_bytes, active_requests, active_bytes;
  int64_t num_host_alloc = 0, num_host_free = 0;
};

struct PlainHostAllocator : c10::Allocator {
  virtual bool record_event(void* pointer, void* context, c10::Stream stream) = 0;
  virtual void empty_cache() = 0;
  virtual at::HostStats get_stats() = 0;
  virtual void reset_accumulated_stats() = 0;
  virtual void reset_peak_stats() = 0;
};

using HostAllocator = std::conditional_t<Known<at::HostAllocator>, at::HostAllocator, PlainHostAllocator>;

HostAllocator* pinned_allocator();
PinnedFigures pinned_figures();

}  // namespace software
