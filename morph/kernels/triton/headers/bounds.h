// Whether a kernel's addresses lie in allocations of the device: MORPH_SANITIZE=memory.
#pragma once
#include <array>
#include "launch.h"

// The device's own function: memory/location.h of the software device. The driver sets it.
using Locate = long long (*)(const void* pointer, std::array<uintptr_t, 5>& range);
extern "C" __attribute__((visibility("default"))) Locate locate_memory = nullptr;
extern "C" __attribute__((visibility("default"))) uintptr_t missed_allocation = 0;  // where it starts

class Bounds {  // for one instance
 public:
  explicit Bounds(Instance instance) : instance_(instance) {}

  template <class T>
  T* read(T* place) { return inside(place, "read"); }
  template <class T>
  T* written(T* place) { return inside(place, "write"); }

 private:
  struct Range { uintptr_t from = 0, to = 0, end = 0; };  // of addresses; the last ones belong to nothing

  template <class T>
  T* inside(T* place, const char* what) {
    uintptr_t address = reinterpret_cast<uintptr_t>(place);
    for (const Range& each : recent_)
      if (address >= each.from && address < each.to && address + sizeof(T) <= each.end) return place;
    locate(address, sizeof(T), what);
    return place;
  }

  __attribute__((noinline)) void locate(uintptr_t address, size_t bytes, const char* what) {
    std::array<uintptr_t, 5> range;
    long long device = locate_memory(reinterpret_cast<const void*>(address), range);
    auto [from, to, start, end, is_live] = range;
    bool is_fine = device < 0 || (is_live && address + bytes <= end);
    if (!is_fine) miss(address, bytes, what, device, range);
    recent_[next_++ % 8] = {from, to, device < 0 ? to : end};
  }

  [[noreturn]] void miss(uintptr_t address, size_t bytes, const char* what, long long device,
                         const std::array<uintptr_t, 5>& range) {
    auto [from, to, start, end, is_live] = range;
    char where[40] = "", place[200];
    if (address > end) std::snprintf(where, sizeof where, "%zu bytes after", size_t(address - end));
    const char* relation = address < end ? "over the end of" : address == end ? "just after" : where;
    if (!is_live) std::snprintf(place, sizeof place, "in memory of cuda:%lld that nothing has", device);
    else std::snprintf(place, sizeof place, "%s an allocation of %zu bytes on cuda:%lld", relation, size_t(end - start),
                       device);
    if (!has_failed(*launch_of_thread)) missed_allocation = is_live ? start : 0;
    fail(*launch_of_thread, "an illegal memory access in instance (%d, %d, %d): a %s of %zu bytes %s", instance_.x,
         instance_.y, instance_.z, what, bytes, place);
    throw Stopped();
  }

  Instance instance_;
  Range recent_[8];
  unsigned next_ = 0;
};
