// See transfers.h.
#include "transfers.h"

#include "machine.h"
#include "memory.h"
#include "queues.h"
#include "state.h"

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace transfers {
namespace {

int begin(const Order& order) {
  if (!queues::is_stream(order.stream)) return machine::kInvalidHandle;
  if (int code = machine::use()) return code;
  if (int code = state::pending()) return code;
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

int checked(const void* to, size_t to_bytes, const void* from, size_t from_bytes, int direction) {
  if (direction < kHostToHost || direction > kAny) return machine::kInvalidDirection;
  if (!to || !from || !agree(to, from, direction)) return machine::kInvalidValue;
  return memory::fits(to, to_bytes) && memory::fits(from, from_bytes) ? 0 : int(machine::kInvalidValue);
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

// What a transfer reads and writes, for MORPH_SANITIZE=sync.
class Told {
 public:
  Told(const char* name, const Order& order) : call_{name, reinterpret_cast<intptr_t>(order.stream), order.waits} {}

  void use(const char* start, size_t bytes, bool writes) {
    if (!is_asked_for()) return;
    uses_.push_back({start, bytes, writes});
    machine::begin_call(&call_, &uses_.back());
  }
  ~Told() {
    if (is_asked_for()) machine::end_call(&call_, uses_.data(), uses_.size());
  }

 private:
  static bool is_asked_for() {
    static const bool watched = machine::is_order_watched();
    return watched;
  }

  machine::Call call_;
  std::vector<machine::Use> uses_;
};

}  // namespace

int copy(void* to, const void* from, size_t bytes, int direction, Order order) {
  ConstPlane source{static_cast<const char*>(from), bytes};
  return copy_rows({static_cast<char*>(to), bytes}, source, bytes, 1, direction, order);
}

int copy_rows(Plane to, ConstPlane from, size_t width, size_t height, int direction, Order order) {
  if (int code = begin(order)) return code;
  if (width > to.pitch || width > from.pitch) return machine::kInvalidPitch;
  if (!width || !height) return 0;
  size_t to_bytes = extent(to.pitch, width, height), from_bytes = extent(from.pitch, width, height);
  if (int code = checked(to.start, to_bytes, from.start, from_bytes, direction)) return code;
  if (width == to.pitch && width == from.pitch) width *= std::exchange(height, 1);
  Told told("memcpy", order);
  for (size_t row = 0; row < height; row++) {
    told.use(from.start + row * from.pitch, width, false);
    told.use(to.start + row * to.pitch, width, true);
  }
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
  Told told("memset", order);
  for (size_t row = 0; row < height; row++) told.use(to.start + row * to.pitch, width * count, true);
  for (size_t row = 0; row < height; row++) put(to.start + row * to.pitch, width, value, count);
  return 0;
}

}  // namespace transfers
