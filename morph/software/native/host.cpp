// Pinned host memory.
#include "device.h"

#include <c10/core/CPUAllocator.h>

#include <map>
#include <mutex>

namespace software {
namespace {

std::mutex pinned_mutex;
std::map<const char*, size_t>& pinned = *new std::map<const char*, size_t>;
c10::CachingAllocator::Stat pinned_bytes, pinned_blocks;

void unpin(void* pointer) {
  {
    std::lock_guard<std::mutex> lock(pinned_mutex);
    auto found = pinned.find(static_cast<char*>(pointer));
    pinned_bytes.decrease(found->second);
    pinned_blocks.decrease(1);
    pinned.erase(found);
  }
  c10::GetDefaultCPUAllocator()->raw_deallocate(pointer);
}

struct PinnedAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, c10::Device(c10::kCPU)};
    void* pointer = c10::GetDefaultCPUAllocator()->raw_allocate(bytes);
    std::lock_guard<std::mutex> lock(pinned_mutex);
    pinned[static_cast<char*>(pointer)] = bytes;
    pinned_bytes.increase(bytes);
    pinned_blocks.increase(1);
    return {pointer, pointer, &unpin, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &unpin; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }
};

}  // namespace

c10::Allocator* pinned_allocator() {
  static auto* instance = new PinnedAllocator;
  return instance;
}

bool is_pinned(const void* pointer) {
  std::lock_guard<std::mutex> lock(pinned_mutex);
  auto after = pinned.upper_bound(static_cast<const char*>(pointer));
  if (after == pinned.begin()) return false;
  auto [start, bytes] = *std::prev(after);
  return pointer < start + bytes;
}

void register_host_memory(const void* pointer, size_t bytes) {
  std::lock_guard<std::mutex> lock(pinned_mutex);
  pinned[static_cast<const char*>(pointer)] = bytes;
}

void unregister_host_memory(const void* pointer) {
  std::lock_guard<std::mutex> lock(pinned_mutex);
  pinned.erase(static_cast<const char*>(pointer));
}

std::pair<c10::CachingAllocator::Stat, c10::CachingAllocator::Stat> pinned_stats() {
  std::lock_guard<std::mutex> lock(pinned_mutex);
  return {pinned_bytes, pinned_blocks};
}

void reset_pinned_stats(bool peaks) {
  std::lock_guard<std::mutex> lock(pinned_mutex);
  for (auto* stat : {&pinned_bytes, &pinned_blocks}) peaks ? stat->reset_peak() : stat->reset_accumulated();
}

}  // namespace software
