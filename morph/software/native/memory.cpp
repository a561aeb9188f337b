// torch's device allocator over the arenas of the devices, and memory that another process may map.
#include "addresses.h"
#include "arena.h"
#include "memory.h"

#include <c10/core/CPUAllocator.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace software {
namespace {

using c10::DataPtr;
using c10::DeviceIndex;

// Never freed: tensors outlive static destruction.
std::vector<std::unique_ptr<Arena>>& arenas = *new std::vector<std::unique_ptr<Arena>>;

Arena& arena(DeviceIndex index) { return *arenas.at(size_t(checked(index))); }

DataPtr taken(size_t bytes, DeviceIndex index, c10::Device seen_as) {
  if (bytes == 0) return {nullptr, nullptr, &free_device_memory, seen_as};
  c10::StreamId stream = current_stream(index).id();
  void* start = arena(index).take(bytes, stream, pool_for(index, stream))->start;
  return {start, start, &free_device_memory, seen_as};
}

struct Allocator final : c10::DeviceAllocator {
  DataPtr allocate(size_t bytes) override {
    initialize();
    DeviceIndex index = current_device();
    return taken(bytes, index, device(index));
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_device_memory; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }

  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {
    for (auto& each : arenas) each->release_cached();
  }
  // Nothing is still running when memory is freed, so it may be used again at once.
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(DeviceIndex index) override { return arena(index).stats(); }
  void resetAccumulatedStats(DeviceIndex index) override { arena(index).reset_totals(); }
  void resetPeakStats(DeviceIndex index) override { arena(index).reset_peaks(); }
  std::pair<size_t, size_t> getMemoryInfo(DeviceIndex index) override {
    size_t used = size_t(arena(index).stats().reserved_bytes[0].current);
    return {settings().memory - used, settings().memory};
  }
};

thread_local DeviceIndex taken_from = -1;
c10::Allocator* torchs = nullptr;  // of host memory

void free_either(void* pointer) { segment_of(pointer) ? free_device_memory(pointer) : torchs->raw_deleter()(pointer); }

// Torch's allocator of host memory, except where a kernel of the CPU computes for a device.
struct HostAllocator final : c10::Allocator {
  DataPtr allocate(size_t bytes) override {
    if (taken_from < 0) return torchs->allocate(bytes);
    return taken(bytes, taken_from, c10::Device(c10::kCPU));
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_either; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }
};

}  // namespace

void free_device_memory(void* pointer) {
  if (!pointer) return;
  Segment* segment = segment_of(pointer);
  TORCH_INTERNAL_ASSERT(segment, "not memory of the software device");
  arenas[size_t(segment->device)]->give_back(segment, pointer);
}

TakingFrom::TakingFrom(DeviceIndex index) : previous_(taken_from) { taken_from = index; }
TakingFrom::~TakingFrom() { taken_from = previous_; }

c10::DeviceAllocator* allocator() {
  static auto* instance = new Allocator;
  return instance;
}

void install_memory() {
  for (DeviceIndex i = 0; i < settings().count; i++) arenas.push_back(std::make_unique<Arena>(i));
  c10::SetAllocator(settings().type, allocator());
  c10::Allocator* found = c10::GetCPUAllocator();
  if (!found->raw_deleter()) return;  // one whose memory cannot be told apart: results are copied
  torchs = found;
  c10::SetCPUAllocator(new HostAllocator);
}

void set_memory_fraction(DeviceIndex index, double fraction) { arena(index).fraction = fraction; }
double memory_fraction(DeviceIndex index) { return arena(index).fraction; }

DeviceIndex owner_of(const void* pointer) {
  const Segment* segment = segment_of(pointer);
  return segment ? segment->device : -1;
}

void hold_pool(DeviceIndex index, c10::MempoolId_t pool) { arena(index).hold(pool); }
void let_go_of_pool(DeviceIndex index, c10::MempoolId_t pool) { arena(index).let_go(pool); }
int holders_of_pool(DeviceIndex index, c10::MempoolId_t pool) { return arena(index).holders(pool); }

void record_memory_history(size_t entries) {
  for (auto& each : arenas) each->record_history(entries);
}

std::vector<std::vector<MemoryEvent>> memory_history() {
  std::vector<std::vector<MemoryEvent>> all;
  for (auto& each : arenas) all.push_back(each->history());
  return all;
}

std::vector<SegmentView> memory_segments() {
  std::vector<SegmentView> all;
  for (auto& each : arenas) each->list(all);
  return all;
}

std::tuple<int, size_t, size_t> share_memory(const void* pointer) {
  const Segment* segment = segment_of(pointer);
  TORCH_CHECK(segment, "not memory of the software device");
  size_t inside = size_t(static_cast<const char*>(pointer) - segment->start);
  return {arena(segment->device).file(), segment->offset, inside};
}

size_t open_shared_memory(const std::string& file, size_t offset, size_t bytes) {
  int descriptor = open(file.c_str(), O_RDWR | O_CLOEXEC);
  TORCH_CHECK(descriptor >= 0, "the process that shared this tensor is gone");
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, off_t(offset));
  close(descriptor);
  TORCH_CHECK(start != MAP_FAILED, "the memory of the other process cannot be mapped");
  return size_t(start);
}

}  // namespace software
