// Copies and fills, which are done when they return. Functions return codes of CUDA's runtime.
#pragma once

#include <cstddef>

namespace transfers {

enum Direction { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kAny };

// A stream of null is the default one; a copy that does not wait is ordered in its stream.
struct Order {
  const void* stream = nullptr;
  bool waits = true;
};

struct Plane { char* start; size_t pitch; };
struct ConstPlane { const char* start; size_t pitch; };

int copy(void* to, const void* from, size_t bytes, int direction, Order order);
int copy_rows(Plane to, ConstPlane from, size_t width, size_t height, int direction, Order order);
int fill(void* to, size_t width, unsigned value, size_t count, Order order);  // with values of 1, 2 or 4 bytes
int fill_rows(Plane to, size_t width, unsigned value, size_t count, size_t height, Order order);

}  // namespace transfers
