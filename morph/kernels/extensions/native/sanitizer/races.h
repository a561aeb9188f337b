// Accesses of a launch's threads to the same memory that nothing orders.
#pragma once

#include "clock.h"

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

namespace morph_cuda::sanitizer {

struct Race {
  Access first, second;
  bool first_writes, second_writes;
  uintptr_t address;
  bool is_shared;  // shared memory
};

class Races {
 public:
  Races();

  void access(const Knowledge& own, uintptr_t address, size_t bytes, bool writes, Access by, bool is_shared);
  void synchronize(Knowledge& own, uintptr_t address, int thread, bool writes);  // an atomic operation
  void pass_grid();
  void settle();  // the last write has been made
  bool has_found() const { return !found_.empty(); }
  void end();
  Clock& clock() { return clock_; }
  static std::mutex& lock();  // of all launches: they have the shadow in common
  const std::vector<Race>& found() const { return found_; }

 private:
  struct Cell {  // of one word
    Access write, read, other_read;
  };
  using Page = std::array<Cell, 1024>;
  struct Write {  // over another thread's: no race if it leaves the same value
    Race race;
    uint32_t before;
  };

  Cell& cell(uintptr_t word);
  void access_word(const Knowledge& own, uintptr_t word, bool writes, const Access& by, bool is_shared);
  bool conflict(const Knowledge& own, const Access& before, const Access& now, bool is_shared) const;
  void add(const Race& race);
  void add_look(const Race& race, const Access& read);

  const uint32_t launch_;
  Clock clock_;
  uint32_t of_grid_ = 0;
  std::map<uintptr_t, std::map<uint32_t, uint32_t>> released_;  // by address and block: the time
  std::vector<Write> unsettled_;
  std::map<std::tuple<uintptr_t, uint32_t, uint16_t>, Race> looks_;  // plain reads of what another updates atomically
  std::vector<Race> found_;
};

}  // namespace morph_cuda::sanitizer
