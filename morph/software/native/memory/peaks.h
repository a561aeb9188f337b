// What memory reached in each phase of training, and which lines of the program held it at the peak, for `--fit`.
#pragma once

#include "device/device.h"
#include "device/lines.h"

#include <array>
#include <atomic>
#include <unordered_map>

namespace software {

inline std::atomic<bool> peaks_watched{false};
inline bool are_peaks_watched() { return peaks_watched.load(std::memory_order_relaxed); }
void watch_peaks();

enum Phase : size_t { kOther, kBackward, kStep, kPhases };
Phase current_phase();  // of this thread
void begin_step();      // of an optimizer, in this thread
void end_step();
void note_taking_line();  // before an arena is locked, since that takes the interpreter's lock

struct Level {
  size_t allocated = 0, reserved = 0;
};
struct Holder {
  size_t bytes = 0, blocks = 0;
};
using Holders = std::map<std::pair<const void*, int>, Holder>;  // by line

// Of one device, under its arena's lock.
class Peaks {
 public:
  void count(const void* block, int64_t bytes);  // negative: given back
  void reserve(int64_t bytes);
  void note();  // what is held now

  struct Found {
    std::array<Level, kPhases> levels;
    Phase phase = kOther;  // of the largest
    size_t steps = 0;      // that were over at that time
    Holders holders;
  };
  Found found();

 private:
  void keep_holders();

  Level now_;
  Found found_;
  size_t highest_ = 0;
  bool is_new_ = false;  // what is held now is the peak, and not yet kept
  Holders held_;
  std::unordered_map<const void*, Line> lines_;  // of the blocks in use
};

// Where this thread was when it was refused memory: the phase, how many steps were over, the line.
std::tuple<Phase, size_t, Line> refused_at();

// memory.cpp
std::vector<Peaks::Found> peaks();
void note_levels();

}  // namespace software
