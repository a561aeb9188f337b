// Accesses of two instances to the same bytes, of which one writes, and that nothing orders: MORPH_SANITIZE=race. The
// launch runs on one thread meanwhile. An atomic operation comes after all that was done before the last one at its
// place, by whomever: a race may be missed so, but none is made up.
#pragma once
#include <array>
#include <memory>
#include <unordered_map>
#include "launch.h"

struct Access {
  int launch = 0;
  unsigned when = 0;
  long long instance = 0;
  uint8_t bytes = 0;  // of the word, a bit for each
  bool is_atomic = false;
};

class Races {
 public:
  struct Found {
    long long instance = -1;  // that accessed it before; negative: there is none
    bool writes = false;
    uintptr_t word = 0;
    uint32_t before = 0;      // what lay there, which a write of the same value leaves
  };

  static Races& of_library() {
    static Races only;
    return only;
  }

  unsigned now() const { return now_; }
  // What all instances did until then comes before what follows an atomic operation at this place.
  unsigned pass(uintptr_t place) {
    unsigned last = released_[place];
    released_[place] = now_++;
    return last;
  }

  Found access(Access by, uintptr_t address, size_t bytes, bool writes, unsigned known) {
    Found found;
    for (uintptr_t word = address / 4; word * 4 < address + bytes; ++word) {
      unsigned first = unsigned(std::max(address, word * 4) - word * 4);
      unsigned last = unsigned(std::min(address + bytes, word * 4 + 4) - word * 4);
      by.bytes = uint8_t((1u << last) - (1u << first));
      Found here = access_word(by, word, writes, known);
      if (found.instance < 0) found = here;
    }
    return found;
  }

 private:
  struct Cell {
    Access write, read, other_read;
  };
  using Page = std::array<Cell, 1024>;
  static constexpr size_t kMostPages = 8192;

  Cell& cell(uintptr_t word) {
    uintptr_t number = word / 1024;
    auto& [known, found] = recent_[number % recent_.size()];
    if (!found || known != number) {
      if (pages_.size() > kMostPages) pages_.clear(), recent_ = {};
      std::unique_ptr<Page>& page = pages_[number];
      if (!page) page.reset(new Page());
      known = number, found = page.get();
    }
    return (*found)[word % 1024];
  }

  static bool conflict(const Access& before, const Access& now, unsigned known) {
    if (before.launch != now.launch || before.instance == now.instance || !(before.bytes & now.bytes)) return false;
    return !(before.is_atomic && now.is_atomic) && before.when > known;
  }

  Found access_word(const Access& by, uintptr_t word, bool writes, unsigned known) {
    Cell& at = cell(word);
    Found found;
    auto note = [&](const Access& before, bool is_write) {
      if (found.instance < 0 && conflict(before, by, known))
        found = {before.instance, is_write, word, *reinterpret_cast<const uint32_t*>(word * 4)};
    };
    note(at.write, true);
    if (writes) note(at.read, false), note(at.other_read, false);
    if (writes) at.write = by;
    else if (conflict(at.read, by, 0)) at.other_read = by;
    else at.read = by;
    return found;
  }

  unsigned now_ = 1;
  std::unordered_map<uintptr_t, unsigned> released_;
  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages_;
  std::array<std::pair<uintptr_t, Page*>, 256> recent_{};
};
