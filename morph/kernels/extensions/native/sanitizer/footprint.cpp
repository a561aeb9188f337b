// See footprint.h.
#include "footprint.h"

#include "checks.h"
#include "sites.h"

#include <algorithm>
#include <vector>

namespace morph_cuda::sanitizer {
namespace {

// Appends the bytes whose bits are set; what continues the last piece makes it longer.
void append(Pieces& uses, uintptr_t start, uint64_t bits, Piece as) {
  while (bits) {
    int first = __builtin_ctzll(bits);
    uint64_t from_there = ~(bits >> first);
    int count = from_there ? __builtin_ctzll(from_there) : 64;
    count = std::min(count, 64 - first);
    auto* place = reinterpret_cast<const char*>(start + uintptr_t(first));
    if (!uses.empty() && uses.back().start + uses.back().bytes == place) uses.back().bytes += size_t(count);
    else uses.push_back({place, size_t(count), as.writes, as.is_atomic});
    bits = first + count == 64 ? 0 : bits >> (first + count) << (first + count);
  }
}

}  // namespace

void Footprint::add(const Use& use) {
  site_ = use.site;
  uintptr_t address = use.address;
  for (uintptr_t end = address + use.bytes; address < end;) {
    uintptr_t within = address % kLine, count = std::min(end - address, kLine - within);
    uint64_t bits = (count == kLine ? ~uint64_t(0) : (uint64_t(1) << count) - 1) << within;
    Line& line = lines_[address / kLine];
    (!use.writes ? line.read : use.is_atomic ? line.atomic : line.written) |= bits;
    address += count;
  }
}

Pieces Footprint::pieces() const {
  std::vector<std::pair<uintptr_t, Line>> sorted(lines_.begin(), lines_.end());
  std::sort(sorted.begin(), sorted.end(), [](auto& one, auto& other) { return one.first < other.first; });
  Pieces all;
  auto take = [&](uint64_t Line::* bits, Piece as) {
    Pieces some;
    for (auto& [number, line] : sorted) append(some, number * kLine, line.*bits, as);
    all.insert(all.end(), some.begin(), some.end());
  };
  take(&Line::written, {nullptr, 0, true});
  take(&Line::atomic, {nullptr, 0, true, true});
  take(&Line::read, {nullptr, 0, false});
  return all;
}

void Footprint::queue(cudaStream_t stream) const {
  if (!lines_.empty()) order_functions().launch(function_of(site_), reinterpret_cast<intptr_t>(stream), pieces());
}

}  // namespace morph_cuda::sanitizer
