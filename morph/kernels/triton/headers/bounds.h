// Whether a kernel's addresses lie in allocations of the device (MORPH_SANITIZE=memory), and whether anything was
// written to what it reads (MORPH_SANITIZE=init).
#pragma once
#include <array>
#include "launch.h"

// The device's own functions: memory/location.h and memory/unwritten.h of the software device. The driver sets them.
using Locate = long long (*)(const void* pointer, std::array<uintptr_t, 5>& range);
using IsUnwritten = bool (*)(const void* start, size_t bytes);
extern "C" __attribute__((visibility("default"))) Locate locate_memory = nullptr;
extern "C" __attribute__((visibility("default"))) IsUnwritten is_unwritten = nullptr;  // null: init is not checked
extern "C" __attribute__((visibility("default"))) bool checks_memory = false;
extern "C" __attribute__((visibility("default"))) uintptr_t missed_allocation = 0;  // where it starts

class Bounds {  // for one instance
 public:
  explicit Bounds(Instance instance) : instance_(instance) {}

  template <class T>
  T* read(T* place) { return filled(inside(place, "read"), "read"); }
  template <class T>
  T* written(T* place) { return inside(place, "write"); }
  template <class T>
  T* updated(T* place) { return filled(inside(place, "write"), "write"); }

 private:
  struct Range { uintptr_t from = 0, to = 0, end = 0; };  // of addresses; the last ones belong to nothing

  template <class T>
  T* inside(T* place, const char* what) {
    uintptr_t address = reinterpret_cast<uintptr_t>(place);
    if (!checks_memory) return place;
    for (const Range& each : recent_)
      if (address >= each.from && address < each.to && address + sizeof(T) <= each.end) return place;
    locate(address, sizeof(T), what);
    return place;
  }

  template <class T>
  T* filled(T* place, const char* what) {
    if (is_unwritten && is_unwritten(place, sizeof(T)))
      miss(reinterpret_cast<uintptr_t>(place), sizeof(T), what, true);
    return place;
  }

  __attribute__((noinline)) void locate(uintptr_t address, size_t bytes, const char* what) {
    std::array<uintptr_t, 5> range;
    long long device = locate_memory(reinterpret_cast<const void*>(address), range);
    auto [from, to, start, end, state] = range;
    bool is_fine = device < 0 || (state == 1 && address + bytes <= end);
    if (!is_fine) miss(address, bytes, what, false);
    recent_[next_++ % 8] = {from, to, device < 0 ? to : end};
  }

  [[noreturn]] void miss(uintptr_t address, size_t bytes, const char* what, bool is_inside) {
    char place[200];
    uintptr_t allocation = describe(address, is_inside, place);
    if (!has_failed(*launch_of_thread)) missed_allocation = allocation;
    const char* error = is_inside ? "a read where nothing was written" : "an illegal memory access";
    fail(*launch_of_thread, "%s in instance (%d, %d, %d): a %s of %zu bytes %s", error, instance_.x, instance_.y,
         instance_.z, what, bytes, place);
    throw Stopped();
  }

  // Returns the allocation that it tells of, or 0.
  static uintptr_t describe(uintptr_t address, bool is_inside, char (&place)[200]) {
    std::array<uintptr_t, 5> range;
    long long device = locate_memory(reinterpret_cast<const void*>(address), range);
    auto [from, to, start, end, state] = range;
    char where[40] = "";
    if (is_inside) std::snprintf(where, sizeof where, "%zu bytes into", size_t(address - start));
    else if (address > end) std::snprintf(where, sizeof where, "%zu bytes after", size_t(address - end));
    const char* beside = where[0] ? where : address < end ? "over the end of" : "just after";
    if (state == 2) beside = "in what was";
    if (state) std::snprintf(place, sizeof place, "%s an allocation of %zu bytes on cuda:%lld", beside, size_t(end - start), device);
    else std::snprintf(place, sizeof place, "in memory of cuda:%lld that nothing has", device);
    return state ? start : 0;
  }

  Instance instance_;
  Range recent_[8];
  unsigned next_ = 0;
};
