// See races.h. The shadow of the memory, a cell for each word of four bytes, outlives a launch: a cell tells its own.
#include "races.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace morph_cuda::sanitizer {
namespace {

constexpr size_t kMostFound = 20;     // of one launch
constexpr size_t kMostLooks = 65536;
constexpr size_t kMostPages = 8192;   // 4 KiB of memory each, 120 KiB of shadow

std::atomic<uint32_t> launches{0};

uint32_t word_at(uintptr_t address) {
  uint32_t value;
  std::memcpy(&value, reinterpret_cast<void*>(address), sizeof value);
  return value;
}

}  // namespace

Races::Races() : launch_(++launches) {}

std::mutex& Races::lock() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

Races::Cell& Races::cell(uintptr_t word) {
  static auto& pages = *new std::unordered_map<uintptr_t, std::unique_ptr<Page>>;
  static std::array<std::pair<uintptr_t, Page*>, 256> recent{};
  uintptr_t number = word >> 10;
  auto& [last, found] = recent[number % recent.size()];
  if (!found || number != last) {
    if (pages.size() > kMostPages && !pages.count(number)) pages.clear(), recent = {};
    std::unique_ptr<Page>& page = pages[number];
    if (!page) page = std::make_unique<Page>();
    found = page.get(), last = number;
  }
  return (*found)[word & 1023];
}

bool Races::conflict(const Knowledge& own, const Access& before, const Access& now, bool is_shared) const {
  if (before.launch != launch_ || !(before.bytes & now.bytes) || (before.is_atomic && now.is_atomic)) return false;
  if (before.block == now.block && before.thread == now.thread) return false;
  if (is_shared && before.block != now.block) return false;  // the same place of another block's
  return before.when > of_grid_ && !own.has(before, now.thread);
}

void Races::add(const Race& race) {
  auto is_same = [&](const Race& other) {
    return other.first.site == race.first.site && other.second.site == race.second.site;
  };
  if (found_.size() < kMostFound && std::none_of(found_.begin(), found_.end(), is_same)) found_.push_back(race);
}

void Races::access_word(const Knowledge& own, uintptr_t word, bool writes, const Access& by, bool is_shared) {
  Cell& at = cell(word);
  if (writes && by.is_atomic) looks_.erase({word * 4, by.block, by.thread});
  if (conflict(own, at.write, by, is_shared)) {
    Race race{at.write, by, true, writes, word * 4, is_shared};
    if (writes && !by.is_atomic && !at.write.is_atomic) unsettled_.push_back({race, word_at(word * 4)});
    else if (!writes && at.write.is_atomic) add_look(race, by);
    else add(race);
  }
  if (writes) {
    for (const Access& read : {at.read, at.other_read}) {
      if (!conflict(own, read, by, is_shared)) continue;
      Race race{read, by, false, true, word * 4, is_shared};
      by.is_atomic ? add_look(race, read) : add(race);
    }
    at.write = by;
  } else if (conflict(own, at.read, by, is_shared)) {
    at.other_read = by;
  } else {
    at.read = by;
  }
}

void Races::access(const Knowledge& own, uintptr_t address, size_t bytes, bool writes, Access by, bool is_shared) {
  settle();
  by.launch = launch_, by.when = clock_.now();
  uintptr_t end = address + bytes;
  for (uintptr_t word = address / 4; word * 4 < end; word++) {
    unsigned first = unsigned(std::max(address, word * 4) - word * 4);
    unsigned last = unsigned(std::min(end, word * 4 + 4) - word * 4);
    by.bytes = uint8_t((1u << last) - (1u << first));
    access_word(own, word, writes, by, is_shared);
  }
}

void Races::settle() {
  if (unsettled_.empty()) return;
  for (const Write& each : unsettled_)
    if (each.before != word_at(each.race.address)) add(each.race);
  unsettled_.clear();
}

// A loop with atomicCAS begins with a plain read, as in CUDA's programming guide; if the thread's own operation on the
// same word follows, that tells whether it was right.
void Races::add_look(const Race& race, const Access& read) {
  if (looks_.size() < kMostLooks) looks_.emplace(std::tuple(race.address, read.block, read.thread), race);
}

void Races::end() {
  settle();
  for (const auto& [place, race] : looks_) add(race);
}

void Races::synchronize(Knowledge& own, uintptr_t address, int thread, bool writes) {
  auto found = released_.find(address);
  if (found != released_.end())
    for (auto [block, time] : found->second) own.acquire(thread, block, time);
  if (writes && own.fenced()) released_[address][own.block()] = own.fenced();
}

void Races::pass_grid() { of_grid_ = clock_.end(); }

}  // namespace morph_cuda::sanitizer
