// What the lanes of a warp wait for: each other's values, and who else has come to a place of the code.
#include "block.h"

#include <algorithm>
#include <cstring>

namespace morph_cuda {

Deposits* Block::exchange(unsigned mask, const void* mine, size_t bytes, const void* site) {
  note_turns();
  Fibre* own = current_;
  int lane = own->thread & 31;
  if (sanitizer::Barriers* barriers = checks_ ? checks_->barriers() : nullptr) {
    std::string problem = barriers->problem(mask, {own->thread, site});
    if (!problem.empty()) fail(race_error(problem));
  }
  Warp& warp = warp_of(own->thread);
  if (bytes) std::memcpy(own->deposit, mine, bytes);
  own->mask = mask | 1u << lane;
  warp.waiting[lane] = own, warp.arrived |= 1u << lane;
  if (unsigned group = group_of(warp, lane)) release_group(warp, group);
  suspend();
  return own->deposits;
}

// The lanes that wait for just each other, `lane` among them; 0 if one of them is missing.
unsigned Block::group_of(const Warp& warp, int lane) const {
  unsigned mask = warp.waiting[lane]->mask, needed = mask & warp.alive;
  if ((warp.arrived & needed) != needed) return 0;
  for (unsigned left = needed; left; left &= left - 1)
    if (warp.waiting[__builtin_ctz(left)]->mask != mask) return 0;
  return needed;
}

void Block::release_group(Warp& warp, unsigned lanes) {
  if (checks_) checks_->pass_warp(int(&warp - warps_.data()), lanes);
  Deposits* deposits = snapshot(warp, lanes);
  for (unsigned left = lanes; left; left &= left - 1) {
    Fibre* fibre = warp.waiting[__builtin_ctz(left)];
    fibre->deposits = deposits;
    make_ready(fibre);
  }
  warp.arrived &= ~lanes;
}

Deposits* Block::snapshot(const Warp& warp, unsigned lanes) {
  if (free_deposits_.empty()) {
    all_deposits_.push_back(std::make_unique<Deposits>());
    free_deposits_.push_back(all_deposits_.back().get());
  }
  Deposits* deposits = free_deposits_.back();
  free_deposits_.pop_back();
  deposits->arrived = lanes, deposits->readers = unsigned(__builtin_popcount(lanes));
  for (unsigned left = lanes; left; left &= left - 1) {
    int lane = __builtin_ctz(left);
    std::memcpy(deposits->value[lane], warp.waiting[lane]->deposit, 16);
  }
  return deposits;
}

bool Block::is_deposit(uintptr_t address) const {
  return std::any_of(all_deposits_.begin(), all_deposits_.end(), [&](const std::unique_ptr<Deposits>& each) {
    return address - reinterpret_cast<uintptr_t>(each.get()) < sizeof *each;
  });
}

unsigned Block::lanes_here(const void* site) {
  note_turns();
  Fibre* own = current_;
  own->site = site;
  Warp& warp = warp_of(own->thread);
  int lane = own->thread & 31;
  warp.waiting[lane] = own, warp.at_site |= 1u << lane;
  suspend();
  return own->together;
}

bool Block::release_full_warps() {  // after lanes have left
  bool any = false;
  for (Warp& warp : warps_)
    for (unsigned left = warp.arrived; left; left &= left - 1 & warp.arrived)
      if (unsigned group = group_of(warp, __builtin_ctz(left))) release_group(warp, group), any = true;
  return any;
}

bool Block::release_sites() {
  bool any = false;
  for (Warp& warp : warps_) {
    while (warp.at_site) {
      const void* site = warp.waiting[__builtin_ctz(warp.at_site)]->site;
      unsigned together = 0;
      for (unsigned left = warp.at_site; left; left &= left - 1)
        if (warp.waiting[__builtin_ctz(left)]->site == site) together |= left & -left;
      for (unsigned left = together; left; left &= left - 1) {
        Fibre* fibre = warp.waiting[__builtin_ctz(left)];
        fibre->together = together;
        make_ready(fibre);
      }
      warp.at_site &= ~together;
      any = true;
    }
  }
  return any;
}

// A mask may name lanes that went elsewhere, which a GPU does not wait for.
bool Block::release_arrived() {
  bool any = false;
  for (Warp& warp : warps_) {
    if (!warp.arrived) continue;
    unsigned mask = warp.waiting[__builtin_ctz(warp.arrived)]->mask, lanes = 0;
    for (unsigned left = warp.arrived; left; left &= left - 1)
      if (warp.waiting[__builtin_ctz(left)]->mask == mask) lanes |= left & -left;
    release_group(warp, lanes);
    any = true;
  }
  return any;
}

}  // namespace morph_cuda
