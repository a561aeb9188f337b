// torch's device allocator over the arenas of the devices, and memory that another process may map.
#include "memory/addresses.h"
#include "memory/arena.h"
#include "memory/checkpoints.h"
#include "device/faults.h"
#include "device/trace.h"
#include "device/clock.h"
#include "memory/hidden.h"
#include "memory/memory.h"
#include "memory/unwritten.h"
#include "device/order.h"

#include <c10/core/CPUAllocator.h>

namespace software {
namespace {

using c10::DataPtr;
using c10::DeviceIndex;

// Never freed: tensors outlive static destruction.
std::vector<std::unique_ptr<Arena>>& arenas = *new std::vector<std::unique_ptr<Arena>>;

Arena& arena(DeviceIndex index) { return *arenas.at(size_t(checked(index))); }

// torch's profilers take each block with the device's totals; a negative size is a free.
void report(DeviceIndex index, void* pointer, int64_t bytes) {
  auto figures = arena(index).stats();
  c10::reportMemoryUsageToProfiler(pointer, bytes, size_t(figures.allocated_bytes[0].current),
                                   size_t(figures.reserved_bytes[0].current), device(index));
}

void report_refused(DeviceIndex index, size_t bytes) {
  auto figures = arena(index).stats();
  c10::reportOutOfMemoryToProfiler(int64_t(bytes), size_t(figures.allocated_bytes[0].current),
                                   size_t(figures.reserved_bytes[0].current), device(index));
}

void free_unused() {
  if (!any_given_back) [[likely]] return;
  for (void* pointer : no_longer_used()) free_device_memory(pointer);
}

// Without the cache torch asks CUDA for each block, and counts none (uncached_allocate in CUDACachingAllocator.cpp).
void* take_uncached(DeviceIndex index, size_t bytes, bool fails) {
  refuse_unsafe_call();
  RecordedCall recorded("cudaMalloc");
  void* start = fails ? nullptr : arena(index).take_outside(bytes, /*torchs=*/true);
  if (!start) refuse(kMemoryAllocation);
  mark_allocation(start, bytes);
  trace(&Table::trace_gpu_memory_allocation, start);
  return start;
}

void* take(DeviceIndex index, size_t bytes) {
  constexpr size_t most = size_t(1) << 60;
  open_context(index);
  free_unused();
  Remembered with(true);
  if (are_peaks_watched()) [[unlikely]] note_taking_line();
  TORCH_CHECK_WITH(OutOfMemoryError, bytes < most || settings().type != c10::DeviceType::CUDA, settings().title,
                   " out of memory. Tried to allocate more than 1EB memory.");
  bool fails = happens(Fault::kMemory, index);
  Arena& own = arena(index);
  if (!own.caching) [[unlikely]] return take_uncached(index, bytes, fails);
  c10::StreamId stream = current_stream_id(index);
  try {
    if (fails) [[unlikely]] own.refuse_on_purpose(bytes);
    Block* block = own.take(bytes, stream, pool_for(index, stream));
    if (c10::memoryProfilingEnabled()) [[unlikely]] report(index, block->start, int64_t(block->size));
    trace(&Table::trace_gpu_memory_allocation, block->start);
    if (is_order_watched()) [[unlikely]] give_memory(block->start, block->size);
    mark_allocation(block->start, bytes);
    return block->start;
  } catch (const c10::OutOfMemoryError&) {
    tell_of_refused_memory(index, bytes);
    report_refused(index, bytes);
    throw;
  }
}

DataPtr allocate_on(size_t bytes, DeviceIndex index, c10::Device seen_as) {
  if (bytes == 0) return {nullptr, nullptr, &free_device_memory, seen_as};
  void* start = take(index, bytes);
  if (seen_as.is_cpu()) start = usable(start);
  return {start, start, &free_device_memory, seen_as};
}

struct Allocator final : DeviceAllocator {
  DataPtr allocate(size_t bytes) override {
    initialize();
    DeviceIndex index = current_device();
    return allocate_on(bytes, index, device(index));
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_device_memory; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(usable(to), usable(from), bytes);
  }

  bool initialized() override { return true; }
  void emptyCache(MempoolId_t) override {
    wait_for_uses();
    free_unused();
    Remembered with(false);
    for (auto& each : arenas) each->release_cached();
  }
  void recordStream(const c10::DataPtr& data, c10::Stream stream) override {
    const Segment* segment = segment_of(data.get());
    bool is_its_own = segment && segment->stream == stream.id() && segment->device == stream.device_index();
    if (segment && !segment->is_uncached && !is_its_own) use_on(data.get(), stream);
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(DeviceIndex index) override { return arena(index).stats(); }
  void resetAccumulatedStats(DeviceIndex index) override { arena(index).reset_totals(); }
  void resetPeakStats(DeviceIndex index) override { arena(index).reset_peaks(); }
  std::pair<size_t, size_t> getMemoryInfo(DeviceIndex index) override {
    return {arena(index).available(), settings().memory};
  }
};

thread_local DeviceIndex taken_from = -1;
c10::Allocator* host_allocator = nullptr;

void free_either(void* pointer) { segment_of(pointer) ? free_device_memory(pointer) : host_allocator->raw_deleter()(pointer); }

// torch's allocator of host memory, except while a CPU kernel computes for a device.
struct RedirectedHostAllocator final : c10::Allocator {
  DataPtr allocate(size_t bytes) override {
    if (taken_from < 0) return host_allocator->allocate(bytes);
    return allocate_on(bytes, taken_from, c10::Device(c10::kCPU));
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_either; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(usable(to), usable(from), bytes);
  }
};

}  // namespace

static void tell_of_free(DeviceIndex index, void* start, size_t size) {
  trace(&Table::trace_gpu_memory_deallocation, start);
  if (c10::memoryProfilingEnabled()) [[unlikely]] report(index, start, -int64_t(size));
}

static void free_uncached(Segment* segment) {
  RecordedCall recorded("cudaFree");
  trace(&Table::trace_gpu_memory_deallocation, segment->start);
  arena(segment->device).give_back_outside(segment);
}

static Block* used_block(Segment* segment, void* pointer) {
  Block* block = segment && !segment->blocks.empty() ? segment->block_at(pointer) : nullptr;
  TORCH_CHECK(block && block->used && !block->kept && block->start == pointer, "invalid device pointer: ", pointer);
  return block;
}

void free_device_memory(void* pointer) {
  if (!pointer) return;
  pointer = known(pointer);
  Segment* segment = segment_of(pointer);
  if (segment && segment->is_uncached && segment->start == pointer) [[unlikely]] return free_uncached(segment);
  Block* block = used_block(segment, pointer);
  DeviceIndex index = segment->device;
  size_t size = block->size;
  bool told = block->awaited;
  if (told && is_order_watched()) [[unlikely]] forget_memory(block->start, size);
  Remembered with(false);
  if (keep_while_used(pointer)) [[unlikely]] {
    arenas[size_t(index)]->let_wait(block);
    return tell_of_free(index, pointer, size);
  }
  arenas[size_t(index)]->give_back(segment, pointer);
  if (!told) tell_of_free(index, pointer, size);
}

TakingFrom::TakingFrom(DeviceIndex index) : previous_(taken_from) { taken_from = index; }
TakingFrom::~TakingFrom() { taken_from = previous_; }

HoldingPeaks::HoldingPeaks(DeviceIndex index) : index_(index), outermost_(!holds_peaks) { holds_peaks = true; }
HoldingPeaks::~HoldingPeaks() {
  if (!outermost_) return;
  holds_peaks = false;
  arena(index_).raise_peaks();
}

DeviceAllocator* allocator() {
  static auto* instance = new Allocator;
  return instance;
}

void install_memory() {
  for (DeviceIndex i = 0; i < settings().count; i++) arenas.push_back(std::make_unique<Arena>(i));
  c10::SetAllocator(settings().type, allocator(), UINT8_MAX);  // before that of a build for CUDA (torch 2.14)
  c10::Allocator* found = c10::GetCPUAllocator();
  if (!found->raw_deleter()) return;  // its memory cannot be distinguished: results are copied
  host_allocator = found;
  c10::SetCPUAllocator(new RedirectedHostAllocator);
}

void set_memory_fraction(DeviceIndex index, double fraction) { arena(index).fraction = fraction; }
bool caches() { return arena(0).caching; }
void set_caching(bool enabled) {
  for (auto& each : arenas) each->caching = enabled;
}

int64_t releases_of_memory(DeviceIndex index) { return arena(index).releases(); }
double memory_fraction(DeviceIndex index) { return arena(index).fraction; }

DeviceIndex owner_of(const void* pointer) {
  const Segment* segment = segment_of(pointer);
  return segment ? segment->device : -1;
}

MempoolId_t pool_of(const void* pointer) {
  const Segment* segment = segment_of(pointer);
  return segment ? segment->pool : MempoolId_t{0, 0};
}

void hold_pool(DeviceIndex index, MempoolId_t pool) { arena(index).hold(pool); }
void let_go_of_pool(DeviceIndex index, MempoolId_t pool) { arena(index).let_go(pool); }
void lay_out_pool(DeviceIndex index, MempoolId_t pool, const std::vector<SegmentView>& as) {
  arena(index).put_back(pool, as);
}
int holders_of_pool(DeviceIndex index, MempoolId_t pool) { return arena(index).holders(pool); }

void forget_memory_history() {
  for (auto& each : arenas) each->forget_history();
}

void keep_freed(size_t bytes) { most_kept = bytes; }
std::string line_of_free(const void* block) { return arena(owner_of(block)).line_of_free(block); }

Context context_of(const void* block) { return arena(owner_of(block)).context_of(block); }
Context context_of_segment(const void* start) { return arena(owner_of(start)).context_of_segment(start); }

std::vector<std::vector<MemoryEvent>> memory_history() {
  std::vector<std::vector<MemoryEvent>> all;
  for (auto& each : arenas) all.push_back(each->history());
  return all;
}

std::vector<Peaks::Found> peaks() {
  std::vector<Peaks::Found> all;
  for (auto& each : arenas) all.push_back(each->peaks());
  return all;
}

void note_levels() {
  for (auto& each : arenas) each->note_level();
}

std::vector<SegmentView> memory_segments() {
  std::vector<SegmentView> all;
  for (auto& each : arenas) each->list(all);
  return all;
}

void* take_outside(DeviceIndex index, size_t bytes, bool torchs) {
  open_context(checked(index));
  void* start = arena(index).take_outside(bytes, torchs);
  mark_allocation(start, bytes);
  return start;
}

bool give_back_outside(void* pointer) {
  Segment* segment = segment_of(pointer);
  return segment && segment->start == pointer && arena(segment->device).give_back_outside(segment);
}

std::pair<const char*, size_t> segment_around(const void* pointer) {
  const Segment* segment = segment_of(pointer);
  return segment ? std::pair<const char*, size_t>(segment->start, segment->size) : std::pair<const char*, size_t>();
}

std::tuple<int, size_t, size_t> place_in_file(const void* pointer) {
  const Segment* segment = segment_of(pointer);
  TORCH_CHECK(segment, "not memory of the software device");
  size_t inside = size_t(static_cast<const char*>(pointer) - segment->start);
  return {arena(segment->device).file(), segment->offset, inside};
}

}  // namespace software
