// See transfers.h.
#include "transfers.h"

#include "machine.h"
#include "memory.h"
#include "queues.h"

#include <cstdint>
#include <cstring>

namespace transfers {
namespace {

int begin(const Order& order) {
  if (!queues::is_stream(order.stream)) return machine::kInvalidHandle;
  if (int code = machine::use()) return code;
  if (machine::is_capturing(order.stream)) return machine::refused_in_capture();  // a graph could not repeat it
  return order.waits ? machine::synchronize_stream(order.stream) : 0;
}

bool on_device(const void* pointer) { return memory::device(pointer) >= 0; }
bool for_device(const void* pointer) { return on_device(pointer) || machine::is_pinned(pointer); }

// A side that the direction says is the device's has to be memory that the device can reach.
bool agree(const void* to, const void* from, int direction) {
  if (direction < kHostToHost || direction > kAny) return false;
  bool into = direction == kHostToDevice || direction == kDeviceToDevice;
  bool out = direction == kDeviceToHost || direction == kDeviceToDevice;
  return (!into || for_device(to)) && (!out || for_device(from));
}

int checked(const void* to, const void* from, size_t width, int direction) {
  if (direction < kHostToHost || direction > kAny) return machine::kInvalidDirection;
  if (!to || !from || !agree(to, from, direction)) return machine::kInvalidValue;
  return memory::fits(to, width) && memory::fits(from, width) ? 0 : int(machine::kInvalidValue);
}

// Returns the bytes from the first row's start to the last one's end; too many for any block if they are no number.
size_t extent(size_t pitch, size_t width, size_t height) {
  size_t bytes = 0;
  bool over = __builtin_mul_overflow(pitch, height - 1, &bytes) || __builtin_add_overflow(bytes, width, &bytes);
  return over ? SIZE_MAX : bytes;
}

void put(void* at, size_t width, unsigned value, size_t count) {
  auto* to = static_cast<char*>(machine::usable(at));
  if (width == 1) std::memset(to, int(value), count);
  else
    for (size_t i = 0; i < count; i++) std::memcpy(to + i * width, &value, width);
}

}  // namespace

int copy(void* to, const void* from, size_t bytes, int direction, Order order) {
  if (int code = begin(order)) return code;
  if (!bytes) return 0;
  if (int code = checked(to, from, bytes, direction)) return code;
  std::memmove(machine::usable(to), machine::usable(from), bytes);
  return 0;
}

int copy_rows(Plane to, ConstPlane from, size_t width, size_t height, int direction, Order order) {
  if (int code = begin(order)) return code;
  if (width > to.pitch || width > from.pitch) return machine::kInvalidPitch;
  if (!width || !height) return 0;
  if (int code = checked(to.start, from.start, width, direction)) return code;
  if (!memory::fits(to.start, extent(to.pitch, width, height))) return machine::kInvalidValue;
  if (!memory::fits(from.start, extent(from.pitch, width, height))) return machine::kInvalidValue;
  for (size_t row = 0; row < height; row++)
    std::memmove(machine::usable(to.start + row * to.pitch), machine::usable(from.start + row * from.pitch), width);
  return 0;
}

int fill(void* to, size_t width, unsigned value, size_t count, Order order) {
  if (count > SIZE_MAX / width) return machine::kInvalidValue;
  return fill_rows({static_cast<char*>(to), width * count}, width, value, count, 1, order);
}

int fill_rows(Plane to, size_t width, unsigned value, size_t count, size_t height, Order order) {
  if (int code = begin(order)) return code;
  if (!count || !height) return 0;
  if (count > SIZE_MAX / width) return machine::kInvalidValue;
  if (!for_device(to.start) || width * count > to.pitch) return machine::kInvalidValue;
  if (!memory::fits(to.start, extent(to.pitch, width * count, height))) return machine::kInvalidValue;
  for (size_t row = 0; row < height; row++) put(to.start + row * to.pitch, width, value, count);
  return 0;
}

}  // namespace transfers
