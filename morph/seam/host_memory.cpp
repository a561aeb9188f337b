// torch's allocator of host memory, counted: on the CPU as target it tells of tensors what CUDA's allocator tells.
#include "host_memory.h"
#include "memory_history.h"
#include "seam.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <limits>

namespace seam {
namespace {

struct Metric {
  std::atomic<uint64_t> current{0}, peak{0}, allocated{0}, freed{0};

  void add(uint64_t amount) {
    allocated.fetch_add(amount, std::memory_order_relaxed);
    uint64_t now = current.fetch_add(amount, std::memory_order_relaxed) + amount;
    uint64_t highest = peak.load(std::memory_order_relaxed);
    while (now > highest && !peak.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
    }
  }
  void remove(uint64_t amount) {
    freed.fetch_add(amount, std::memory_order_relaxed);
    current.fetch_sub(amount, std::memory_order_relaxed);
  }
  void put(std::map<std::string, uint64_t>& counts, const std::string& name) const {
    counts[name + ".current"] = current;
    counts[name + ".peak"] = peak;
    counts[name + ".allocated"] = allocated;
    counts[name + ".freed"] = freed;
  }
};

constexpr uint64_t unlimited = std::numeric_limits<uint64_t>::max();
Metric bytes_held, blocks_held;
std::atomic<uint64_t> refused{0};
std::atomic<uint64_t> limit{unlimited};
c10::Allocator* torchs = nullptr;
c10::DeleterFnPtr torchs_release = nullptr;

// Outlives the engagement in the tensors that it allocated.
void release(void* block) {
  uint64_t bytes = malloc_usable_size(block);
  bytes_held.remove(bytes);
  blocks_held.remove(1);
  note_released(block, bytes);
  torchs_release(block);
}

[[noreturn]] void out_of_memory(size_t bytes, const char* reason) {
  ++refused;
  TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", bytes,
                   " bytes of the host's memory: ", reason);
}

struct CountingAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    uint64_t most = limit.load(std::memory_order_relaxed);
    if (most != unlimited && bytes_held.current + bytes > most)
      out_of_memory(bytes, "it is beyond the fraction that this process was given");
    c10::DataPtr data = allocated(bytes);
    if (data && data.compare_exchange_deleter(torchs_release, release)) {
      uint64_t held = malloc_usable_size(data.get());
      bytes_held.add(held);
      blocks_held.add(1);
      note_allocated(data.get(), held);
    }
    return data;
  }
  c10::DeleterFnPtr raw_deleter() const override { return release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

 private:
  c10::DataPtr allocated(size_t bytes) {
    try {
      return torchs->allocate(bytes);
    } catch (const c10::Error& error) {
      out_of_memory(bytes, error.what_without_backtrace());
    }
  }
};

CountingAllocator counting;

}  // namespace

void engage_host_memory() {
  c10::Allocator* found = c10::GetCPUAllocator();
  if (!on_host() || found->raw_deleter() == nullptr) return;
  torchs = found;
  torchs_release = found->raw_deleter();
  c10::SetCPUAllocator(&counting);
}

void disengage_host_memory() {
  limit_host_memory(unlimited);
  record_memory_history(0);
  if (c10::GetCPUAllocator() == &counting) c10::SetCPUAllocator(torchs);
}

std::map<std::string, uint64_t> host_memory() {
  std::map<std::string, uint64_t> counts;
  bytes_held.put(counts, "allocated_bytes.all");
  blocks_held.put(counts, "allocation.all");
  counts["num_ooms"] = refused;
  return counts;
}

void reset_peak_host_memory() {
  for (Metric* metric : {&bytes_held, &blocks_held}) metric->peak = metric->current.load();
}

void reset_accumulated_host_memory() {
  for (Metric* metric : {&bytes_held, &blocks_held}) metric->allocated = metric->freed = 0;
  refused = 0;
}

void limit_host_memory(uint64_t bytes) { limit = bytes; }

}  // namespace seam
