// See location.h.
#include "memory/location.h"

#include "memory/addresses.h"
#include "memory/free_blocks.h"
#include "memory/hidden.h"

namespace software {
namespace {

uintptr_t number(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

const Block* block_around(const Segment& segment, const char* pointer) {
  size_t unit = size_t(pointer - segment.start) / segment.unit();
  while (unit && !(segment.blocks[unit] && segment.blocks[unit]->start <= pointer)) unit--;
  return segment.blocks[unit];
}

}  // namespace

int64_t locate(const void* given, std::array<uintptr_t, 5>& range) {
  const void* pointer = known(const_cast<void*>(given));
  const Segment* segment = segment_of(pointer);
  uintptr_t granule = number(pointer) / kGranule * kGranule;
  if (!segment) return range = {granule, granule + kGranule, 0, 0, 0}, -1;
  uintptr_t start = number(segment->start), asked = segment->requested ? segment->requested : segment->size;
  if (segment->blocks.empty()) return range = {start, granule + kGranule, start, start + asked, kLive}, segment->device;
  const Block* block = block_around(*segment, static_cast<const char*>(pointer));
  start = number(block->start);
  bool is_used = block->used || segment->pool != MempoolId_t{0, 0};  // a graph's replay uses its pool's free blocks
  uintptr_t state = block->kept ? kFreed : is_used ? kLive : 0;
  range = {start, start + block->size, start, start + (block->used ? block->requested : block->size), state};
  return segment->device;
}

}  // namespace software
