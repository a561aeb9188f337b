// Finds the segment of an address, at every free and therefore without a lock.
#pragma once

#include <cstddef>

namespace software {

struct Segment;

constexpr std::size_t kGranule = 2 * 1024 * 1024;  // segments begin and end at its multiples

// Returns reserved addresses for a segment, or null if none are left.
char* aligned_addresses(std::size_t bytes);
void enter(const char* start, std::size_t bytes, Segment* segment);
Segment* segment_of(const void* pointer);  // not device memory: null

}  // namespace software
