// Pinned host memory: freed blocks are cached, in powers of two, as torch does for a GPU; a block
// that a copy still reads, by the device's clock, is reused only after that.
#include "device/assertions.h"
#include "device/clock.h"
#include "device/errors.h"
#include "memory/pinned.h"
#include "memory/held.h"
#include "memory/hidden.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/llvmMathExtras.h>

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>

namespace software {
namespace {

const size_t host_page = size_t(sysconf(_SC_PAGESIZE));  // on some machines 64 KiB

struct HostBlock {
  size_t size;
  Clock::time_point busy_until{};
};

std::mutex mutex;
std::map<const char*, HostBlock>& taken = *new std::map<const char*, HostBlock>;
std::multimap<size_t, std::pair<char*, Clock::time_point>>& kept =
    *new std::multimap<size_t, std::pair<char*, Clock::time_point>>;
std::map<const char*, size_t>& registered = *new std::map<const char*, size_t>;
PinnedFigures figures;

template <typename Value>
auto holding(std::map<const char*, Value>& blocks, const void* pointer) {
  auto after = blocks.upper_bound(static_cast<const char*>(pointer));
  return after == blocks.begin() ? blocks.end() : std::prev(after);
}

size_t size_of(size_t size) { return size; }
size_t size_of(const HostBlock& block) { return block.size; }

template <typename Value>
bool lies_in(std::map<const char*, Value>& blocks, const void* pointer) {
  auto found = holding(blocks, pointer);
  return found != blocks.end() && pointer < found->first + size_of(found->second);
}

char* from_kept(size_t size) {
  auto [first, last] = kept.equal_range(size);
  for (auto it = first; it != last; ++it)
    if (is_past(it->second.second)) {
      char* start = it->second.first;
      kept.erase(it);
      return start;
    }
  return nullptr;
}

// Its pages can be told from those of other memory.
bool has_own_pages() { return is_order_watched() || hides_memory(); }

// A mapping of its own, between two pages that belong to nothing: to protect it divides no other.
char* mapped(size_t size) {
  void* all = mmap(nullptr, size + 2 * host_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  char* start = static_cast<char*>(all) + host_page;
  mprotect(start, size, PROT_READ | PROT_WRITE);
  return start;
}

char* fresh(size_t size) {
  refuse_if_lost();
  auto* start = has_own_pages() ? mapped(size) : static_cast<char*>(c10::GetDefaultCPUAllocator()->raw_allocate(size));
  figures.allocations.increase(1);
  figures.allocated_bytes.increase(size);
  figures.num_host_alloc++;
  return start;
}

void unpin(void* pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = taken.find(static_cast<char*>(pointer));
  HostBlock block = found->second;
  figures.active_requests.decrease(1);
  figures.active_bytes.decrease(block.size);
  if (is_order_watched()) let_go(found->first, block.size);
  taken.erase(found);
  kept.emplace(block.size, std::pair(static_cast<char*>(pointer), block.busy_until));
}

void let_go_of_kept() {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto it = kept.begin(); it != kept.end();) {
    auto& [start, busy_until] = it->second;
    if (!is_past(busy_until)) {
      ++it;
      continue;
    }
    if (has_own_pages()) munmap(start - host_page, it->first + 2 * host_page);
    else c10::GetDefaultCPUAllocator()->raw_deallocate(start);
    figures.allocations.decrease(1);
    figures.allocated_bytes.decrease(it->first);
    figures.num_host_free++;
    it = kept.erase(it);
  }
}

template <typename Action>
void each_stat(Action action) {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto* stat : {&figures.allocations, &figures.allocated_bytes, &figures.active_requests, &figures.active_bytes})
    action(*stat);
}

// As torch 2.10 names them, or as earlier releases do.
template <class Stats>
Stats reported(const PinnedFigures& ours) {
  Stats stats;
  if constexpr (requires { stats.active_requests; }) {
    stats.allocations = ours.allocations, stats.allocated_bytes = ours.allocated_bytes;
    stats.active_requests = ours.active_requests, stats.active_bytes = ours.active_bytes;
  } else {
    stats.allocation = ours.active_requests, stats.allocated_bytes = ours.active_bytes;
    stats.segment = ours.allocations, stats.reserved_bytes = ours.allocated_bytes;
  }
  stats.num_host_alloc = ours.num_host_alloc, stats.num_host_free = ours.num_host_free;
  return stats;
}

struct PinnedAllocator final : HostAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, c10::Device(c10::kCPU)};
    size_t size = c10::llvm::PowerOf2Ceil(has_own_pages() ? std::max(bytes, host_page) : bytes);
    std::lock_guard<std::mutex> lock(mutex);
    char* start = from_kept(size);
    if (!start) start = fresh(size);
    taken[start] = {size};
    figures.active_requests.increase(1);
    figures.active_bytes.increase(size);
    return {start, start, &unpin, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &unpin; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }

  bool record_event(void* pointer, void*, c10::Stream stream) override { return use_pinned(pointer, stream); }
  void empty_cache() override { let_go_of_kept(); }
  at::HostStats get_stats() override { return reported<at::HostStats>(pinned_figures()); }
  void reset_peak_stats() override {
    each_stat([](auto& stat) { stat.reset_peak(); });
  }
  void reset_accumulated_stats() override {
    each_stat([](auto& stat) { stat.reset_accumulated(); });
    figures.num_host_alloc = figures.num_host_free = 0;
  }
};

template <class Allocator>
void register_with_torch(c10::DeviceType type, Allocator* pinned) {
  if constexpr (std::is_same_v<Allocator, at::HostAllocator>) setHostAllocator(type, pinned, 1);  // torch's, by type
}

}  // namespace

PinnedFigures pinned_figures() {
  std::lock_guard<std::mutex> lock(mutex);
  return figures;
}

HostAllocator* pinned_allocator() {
  static auto* instance = new PinnedAllocator;
  return instance;
}

void install_pinned_memory() { register_with_torch(settings().type, pinned_allocator()); }

bool is_pinned(const void* pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  return lies_in(taken, pointer) || lies_in(registered, pointer);
}

bool is_in_own_pages(const void* pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  auto has_pages = [&](auto& blocks) {
    if (!lies_in(blocks, pointer)) return false;
    auto [start, block] = *holding(blocks, pointer);
    return reinterpret_cast<uintptr_t>(start) % host_page == 0 && size_of(block) % host_page == 0;
  };
  return has_pages(taken) || has_pages(registered);
}

bool use_pinned(const void* pointer, c10::Stream stream) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!lies_in(taken, pointer)) return false;
  HostBlock& block = holding(taken, pointer)->second;
  block.busy_until = std::max(block.busy_until, idle_at(stream));
  return true;
}

int32_t register_host_memory(const void* pointer, size_t bytes) {
  if (!pointer || !bytes) return kInvalidValue;
  std::lock_guard<std::mutex> lock(mutex);
  if (lies_in(registered, pointer)) return kAlreadyRegistered;
  registered[static_cast<const char*>(pointer)] = bytes;
  return 0;
}

int32_t unregister_host_memory(const void* pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = registered.find(static_cast<const char*>(pointer));
  if (found == registered.end()) return kNotRegistered;
  if (is_order_watched()) let_go(found->first, found->second);
  registered.erase(found);
  return 0;
}

}  // namespace software
