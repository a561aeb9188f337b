// What a kernel's accesses are checked for: whether they lie in allocations of the device (MORPH_SANITIZE=memory),
// whether anything was written to what is read (init), and whether they race with another instance's (race).
#pragma once
#include <mutex>
#include "races.h"

// The device's own functions: memory/location.h and memory/unwritten.h of the software device. The driver sets them.
using Locate = long long (*)(const void* pointer, std::array<uintptr_t, 5>& range);
using IsUnwritten = bool (*)(const void* start, size_t bytes);
#define SET_BY_DRIVER extern "C" __attribute__((visibility("default")))
SET_BY_DRIVER Locate locate_memory = nullptr;
SET_BY_DRIVER IsUnwritten is_unwritten = nullptr;
SET_BY_DRIVER bool checks_memory = false, checks_init = false, checks_race = false;
SET_BY_DRIVER uintptr_t missed_allocation = 0;  // where it starts

class Checks {  // for one instance
 public:
  explicit Checks(Instance instance) : instance_(instance) {}
  ~Checks() { settle(); }

  template <class T>
  T* read(T* place) { return use(place, {"read", true, false, false}); }
  template <class T>
  T* polled(T* place) { return use(place, {"read", true, false, true}); }
  template <class T>
  T* written(T* place) { return use(place, {"write", false, true, false}); }
  template <class T>
  T* updated(T* place) { return use(place, {"write", true, true, true}); }

 private:
  struct Range { uintptr_t from = 0, to = 0, end = 0; };  // of addresses; the last ones belong to nothing
  struct Use { const char* name; bool reads, writes, is_atomic; };

  template <class T>
  T* use(T* place, Use use) {
    uintptr_t address = reinterpret_cast<uintptr_t>(place);
    if (checks_memory) look_up(address, sizeof(T), use.name);
    if (checks_init && use.reads && is_unwritten(place, sizeof(T))) miss_writing(address, sizeof(T), use.name);
    if (checks_race) race(address, sizeof(T), use);
    return place;
  }

  void look_up(uintptr_t address, size_t bytes, const char* name) {
    for (const Range& each : recent_)
      if (address >= each.from && address < each.to && address + bytes <= each.end) return;
    auto [device, range] = located(address);
    auto [from, to, start, end, state] = range;
    bool is_fine = device < 0 || (state == 1 && address + bytes <= end);
    if (!is_fine) stop("an illegal memory access", address, bytes, name, false);
    recent_[next_++ % 8] = {from, to, device < 0 ? to : end};
  }

  void miss_writing(uintptr_t address, size_t bytes, const char* name) {
    uintptr_t end = located(address).second[3];
    if ((address + bytes + 3) / 4 * 4 <= end) stop("a read where nothing was written", address, bytes, name, true);
  }

  void race(uintptr_t address, size_t bytes, Use use) {
    std::lock_guard<std::mutex> lock(mutex());
    Races& races = Races::of_library();
    settle();
    if (use.is_atomic) known_ = std::max(known_, races.pass(address));
    Access by{launch_of_thread->number, races.now(), number(), 0, use.is_atomic};
    Races::Found found = races.access(by, address, bytes, use.writes, known_);
    if (found.instance < 0) return;
    unsettled_ = {found, address, bytes, use.name};
    if (!use.writes || !found.writes || use.is_atomic) tell(), throw Stopped();
  }

  // Of two writes the second may have left what the first wrote.
  void settle() {
    if (unsettled_.found.instance < 0) return;
    if (*reinterpret_cast<const uint32_t*>(unsettled_.found.word * 4) != unsettled_.found.before) tell();
    unsettled_.found.instance = -1;
  }

  void tell() {
    auto [found, address, bytes, name] = unsettled_;
    long long width = launch_of_thread->grid.x, plane = width * launch_of_thread->grid.y, other = found.instance;
    char text[120];
    std::snprintf(text, sizeof text, "a race with a %s by instance (%lld, %lld, %lld), that nothing orders,",
                  found.writes ? "write" : "read", other % width, other % plane / width, other / plane);
    report(text, address, bytes, name, true);
    unsettled_.found.instance = -1;
  }

  long long number() const {
    const Grid& grid = launch_of_thread->grid;
    return ((long long)instance_.z * grid.y + instance_.y) * grid.x + instance_.x;
  }

  [[noreturn]] void stop(const char* error, uintptr_t address, size_t bytes, const char* name, bool is_inside) {
    report(error, address, bytes, name, is_inside);
    throw Stopped();
  }

  void report(const char* error, uintptr_t address, size_t bytes, const char* name, bool is_inside) {
    char place[200];
    uintptr_t allocation = describe(address, is_inside, place);
    if (!has_failed(*launch_of_thread)) missed_allocation = allocation;
    fail(*launch_of_thread, "%s in instance (%d, %d, %d): a %s of %zu bytes%s", error, instance_.x, instance_.y,
         instance_.z, name, bytes, place);
  }

  // Returns the allocation that it tells of, or 0.
  static uintptr_t describe(uintptr_t address, bool is_inside, char (&place)[200]) {
    auto [device, range] = located(address);
    auto [from, to, start, end, state] = range;
    char where[40] = "";
    if (is_inside) std::snprintf(where, sizeof where, ", %zu bytes into", size_t(address - start));
    else if (address > end) std::snprintf(where, sizeof where, " %zu bytes after", size_t(address - end));
    const char* beside = where[0] ? where : address < end ? " over the end of" : " just after";
    if (state == 2) beside = " in what was";
    if (!state) std::snprintf(place, sizeof place, " in memory of cuda:%lld that nothing has", device);
    else std::snprintf(place, sizeof place, "%s an allocation of %zu bytes on cuda:%lld", beside, size_t(end - start),
                       device);
    return state ? start : 0;
  }

  static std::pair<long long, std::array<uintptr_t, 5>> located(uintptr_t address) {
    std::array<uintptr_t, 5> range;
    long long device = locate_memory(reinterpret_cast<const void*>(address), range);
    return {device, range};
  }

  static std::mutex& mutex() {
    static std::mutex only;
    return only;
  }

  Instance instance_;
  Range recent_[8];
  unsigned next_ = 0, known_ = 0;
  struct {
    Races::Found found;
    uintptr_t address;
    size_t bytes;
    const char* name;
  } unsettled_;
};
