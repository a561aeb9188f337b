// See addresses.h. A table of tables, each made at its first use and never freed.
#include "memory/addresses.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

namespace software {
namespace {

constexpr std::size_t kBits = 13;  // of an address, for each of the two tables: 2 * 13 + 21 = 47

struct Leaf { std::atomic<Segment*> segments[1 << kBits]; };
std::atomic<Leaf*> leaves[1 << kBits];

std::size_t granule(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) / kGranule; }

Leaf* leaf(std::size_t granule, bool make) {
  std::size_t index = granule >> kBits;
  if (index >= (1 << kBits)) return nullptr;
  Leaf* found = leaves[index].load(std::memory_order_acquire);
  if (found || !make) return found;
  auto* fresh = new Leaf();
  if (leaves[index].compare_exchange_strong(found, fresh)) return fresh;
  delete fresh;
  return found;
}

}  // namespace

char* aligned_addresses(std::size_t bytes) {
  void* all = mmap(nullptr, bytes + kGranule, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(all);
  std::size_t before = (kGranule - reinterpret_cast<std::uintptr_t>(begin) % kGranule) % kGranule;
  if (before) munmap(begin, before);
  munmap(begin + before + bytes, kGranule - before);
  return begin + before;
}

void enter(const char* start, std::size_t bytes, Segment* segment) {
  for (std::size_t each = granule(start); each < granule(start + bytes); each++)
    leaf(each, true)->segments[each & ((1 << kBits) - 1)].store(segment, std::memory_order_release);
}

Segment* segment_of(const void* pointer) {
  std::size_t each = granule(pointer);
  Leaf* found = leaf(each, false);
  return found ? found->segments[each & ((1 << kBits) - 1)].load(std::memory_order_acquire) : nullptr;
}

}  // namespace software
