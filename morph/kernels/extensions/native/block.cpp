// The turns of a block's threads.
#include "block.h"

#include "device.h"
#include "grid.h"
#include "sanitizer/sites.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace morph_cuda {

__thread Place place;

namespace {

constexpr size_t kAligned = 1024;  // as kernels expect that swizzle rows of 128 bytes

struct Kept {  // until the thread of the host ends
  Block* block = nullptr;
  ~Kept() { delete block; }
};
thread_local Kept kept;

std::string access_text(const std::string& what, const void* site) {
  const morph_index& b = place.block, &t = place.thread;
  std::string where = c10::str("block [", b.x, ",", b.y, ",", b.z, "], thread [", t.x, ",", t.y, ",", t.z, "]");
  return c10::str(sanitizer::source_of(site), ": ", what, ", ", where);
}

void note_found(const char* check, const std::string& text) {
  if (is_launching()) device_functions().note_found(check, text);  // another thread may not ask for the function
}

std::exception_ptr race_error(const std::string& text) {
  note_found("race", text);
  return std::make_exception_ptr(c10::Error({__func__, __FILE__, __LINE__}, text));
}

}  // namespace

Block& Block::of_this_thread() {
  if (!kept.block) kept.block = new Block;
  return *kept.block;
}

Block* Block::running() { return kept.block && kept.block->current_ ? kept.block : nullptr; }

Block::Block() : own_(own_context()) {}

Block::~Block() {
  for (auto& fibre : fibres_) free_context(fibre->context);
  free_own_context(own_);
}

void Block::prepare(dim3 grid, dim3 block, size_t shared, void (*thread)(void*), void* closure, uint64_t shuffle,
                    sanitizer::Launch* checked) {
  grid_ = grid, block_ = block, thread_ = thread, closure_ = closure, shuffle_ = shuffle;
  count_ = int(block.x * block.y * block.z);
  warps_.resize(size_t(count_ + 31) / 32);
  size_t bytes = shared + kAligned + (checked ? sanitizer::kZone : 0);
  if (memory_.size() < bytes) memory_.resize(bytes);
  dynamic_ = memory_.data() + (kAligned - uintptr_t(memory_.data()) % kAligned);
  order_.clear();
  shared_ = shared;
  checks_ = checked ? std::make_unique<sanitizer::Checks>(*checked, *this) : nullptr;
}

void Block::run(int64_t number) {
  place.block_size = {block_.x, block_.y, block_.z}, place.grid_size = {grid_.x, grid_.y, grid_.z};
  place.block = {unsigned(number % grid_.x), unsigned(number / grid_.x % grid_.y), unsigned(number / grid_.x / grid_.y)};
  begun_ = done_ = at_barrier_ = 0, voting_ = {0, 0};
  for (size_t i = 0; i < warps_.size(); i++) {
    int left = count_ - int(i) * 32;
    warps_[i] = {left >= 32 ? kAll : (1u << left) - 1, 0, 0, {}};
  }
  for (Barrier& each : barriers_) each.arrived = 0;
  if (shuffle_) {
    random_.seed(shuffle_ ^ uint64_t(number));
    order_.resize(size_t(count_));
    for (int i = 0; i < count_; i++) order_[size_t(i)] = i;
    std::shuffle(order_.begin(), order_.end(), random_);
  }
  if (checks_) checks_->begin(number, count_, reinterpret_cast<uintptr_t>(thread_), shared_);
  while (done_ < count_ && !error_) {
    if (Fibre* fibre = next()) resume(fibre);
    else if (!release_stuck()) error_ = std::make_exception_ptr(std::runtime_error("the threads of a block wait for each other"));
  }
  if (error_) {
    abandon();
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

Block::Fibre* Block::next() {
  auto take = [](std::deque<Fibre*>& from) {
    Fibre* first = from.front();
    from.pop_front();
    return first;
  };
  if (!ready_.empty()) return take(ready_);
  if (begun_ < count_) return idle_fibre();
  return later_.empty() ? nullptr : take(later_);
}

Block::Fibre* Block::idle_fibre() {
  if (idle_.empty()) {
    fibres_.push_back(std::make_unique<Fibre>());
    fibres_.back()->context = make_context(&Block::enter);
    return fibres_.back().get();
  }
  Fibre* fibre = idle_.back();
  idle_.pop_back();
  return fibre;
}

void Block::resume(Fibre* fibre) {
  current_ = fibre;
  if (fibre->thread >= 0) place_thread(fibre->thread);
  if (checks_) checks_->run_on(stack_of(fibre->context));
  sanitizer::active = checks_.get();
  switch_to(own_, fibre->context);
  sanitizer::active = nullptr;
  current_ = nullptr;
}

void Block::enter() {
  for (;;) {
    Block& block = *kept.block;
    block.run_threads();
    Fibre* own = block.current_;
    own->thread = -1;
    block.idle_.push_back(own);
    switch_to(own->context, block.own_);
  }
}

void Block::run_threads() {
  while (begun_ < count_ && !error_ && ready_.empty()) {
    int number = begun_++;
    int thread = order_.empty() ? number : order_[size_t(number)];
    current_->thread = thread;
    place_thread(thread);
    try {
      thread_(closure_);
    } catch (...) {
      error_ = std::current_exception();
    }
    make_copies(*current_, current_->copies.size());
    leave(current_->thread);
  }
}

void Block::leave(int thread) {
  done_++;
  if (checks_ && checks_->barriers()) checks_->barriers()->end_thread(thread);
  warp_of(thread).alive &= ~(1u << (thread & 31));
}

void Block::place_thread(int thread) {
  unsigned t = unsigned(thread);
  place.thread = {t % block_.x, t / block_.x % block_.y, t / block_.x / block_.y};
}

void Block::suspend(Waiting waiting) {
  Fibre* own = current_;
  own->waiting = waiting;
  switch_to(own->context, own_);
}

void Block::make_ready(Fibre* fibre) {
  fibre->waiting = Waiting::kNothing;
  if (!shuffle_ || ready_.empty()) return ready_.push_back(fibre);
  ready_.insert(ready_.begin() + std::ptrdiff_t(random_() % (ready_.size() + 1)), fibre);
}

void Block::wait_for_block(int vote, const void* site) {
  at_barrier_++;
  current_->site = site;
  voting_.count += vote, voting_.voters++;
  parked_.push_back(current_);
  suspend(Waiting::kBlock);
}

bool Block::release_block() {
  if (!at_barrier_ || at_barrier_ < count_ - done_) return false;
  if (checks_) check_barrier(), checks_->pass_barrier();
  released_ = std::exchange(voting_, {0, 0});
  at_barrier_ = 0;
  for (Fibre* fibre : parked_) make_ready(fibre);
  parked_.clear();
  return true;
}

void Block::check_barrier() {
  sanitizer::Barriers* barriers = checks_->barriers();
  if (!barriers) return;
  std::vector<sanitizer::Barriers::Waiting> waiting;
  for (const Fibre* each : parked_) waiting.push_back({each->thread, each->site});
  std::string problem = barriers->problem(waiting);
  if (!problem.empty()) error_ = race_error(problem);
}

std::vector<int> Block::threads_of(const std::vector<Fibre*>& parked) const {
  std::vector<int> threads{current_->thread};
  for (const Fibre* fibre : parked) threads.push_back(fibre->thread);
  return threads;
}

// The last of the threads goes on, and lets the others on.
void Block::arrive_at(unsigned barrier, unsigned threads, bool waits) {
  Barrier& at = barriers_[barrier % barriers_.size()];
  if (++at.arrived < (threads ? threads : unsigned(count_))) {
    if (!waits) return;
    at.parked.push_back(current_);
    return suspend(Waiting::kBarrier);
  }
  at.arrived = 0;
  if (checks_) checks_->pass(threads_of(at.parked));
  for (Fibre* fibre : at.parked) make_ready(fibre);
  at.parked.clear();
}

void Block::wait_at(const void* place) {
  current_->site = place;
  at_places_.push_back(current_);
  suspend(Waiting::kPlace);
}

void Block::wake(const void* place) {
  auto sleeps = [&](const Fibre* each) { return each->site != place; };
  auto woken = std::stable_partition(at_places_.begin(), at_places_.end(), sleeps);
  for (auto each = woken; each != at_places_.end(); ++each) make_ready(*each);
  at_places_.erase(woken, at_places_.end());
}

// Copies end late on a GPU too: the others read what was there before until they wait themselves.
void Block::wait_for_copies(size_t groups_left) {
  Fibre& own = *current_;
  if (own.groups.size() <= groups_left) return;
  go_on_later();
  make_copies(own, own.groups[own.groups.size() - groups_left - 1]);
}

void Block::make_copies(Fibre& fibre, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const Copy& each = fibre.copies[i];
    if (sanitizer::active) of_this_thread().checks_->copy(each.to, each.from, each.size, each.size - each.zeros, each.site);
    std::memcpy(each.to, each.from, each.size - each.zeros);
    std::memset(static_cast<char*>(each.to) + each.size - each.zeros, 0, each.zeros);
  }
  fibre.copies.erase(fibre.copies.begin(), fibre.copies.begin() + std::ptrdiff_t(count));
  std::erase_if(fibre.groups, [=](size_t end) { return end <= count; });
  for (size_t& end : fibre.groups) end -= count;
}

Deposits* Block::exchange(unsigned mask, const void* mine, size_t bytes, const void* site) {
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
  own->waiting = Waiting::kWarp;
  if (unsigned group = group_of(warp, lane)) release_group(warp, group);
  suspend(own->waiting);
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

void Block::has_read(Deposits* deposits) {
  if (!--deposits->readers) free_deposits_.push_back(deposits);
}

unsigned Block::lanes_here(const void* site) {
  Fibre* own = current_;
  own->site = site;
  Warp& warp = warp_of(own->thread);
  warp.waiting[lane()] = own, warp.at_site |= 1u << lane();
  suspend(Waiting::kLanes);
  return own->together;
}

void Block::let_others_on() {
  if (!shuffle_) go_on_later();
}

void Block::go_on_later() {
  later_.push_back(current_);
  suspend(Waiting::kNothing);
}

// No thread can run: releases those whose wait is over, in the order of how sure that is.
bool Block::release_stuck() {
  return release_full_warps() || release_block() || release_sites() || release_arrived();
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

void Block::fail_access(cudaError_t error, const std::string& what, const void* site, const char* check) {
  std::string text = c10::str("CUDA error: ", cudaGetErrorString(error), ": ", access_text(what, site));
  note_found(check, text);
  fail(std::make_exception_ptr(c10::AcceleratorError({__func__, __FILE__, __LINE__}, error, text)));
}

void Block::fail_unwritten(const std::string& what, const void* site) {
  std::string text = "CUDA error: memory is read that nothing was written to (found by MORPH_SANITIZE=init)\n  " +
                     access_text(what, site);
  note_found("init", text);
  fail(std::make_exception_ptr(c10::Error({__func__, __FILE__, __LINE__}, text)));
}

void Block::fail(std::exception_ptr error) {
  error_ = std::move(error);
  for (;;) switch_to(current_->context, own_);
}

// What ran on the stacks is not unwound: a kernel's thread holds nothing.
void Block::abandon() {
  idle_.clear(), ready_.clear(), later_.clear(), parked_.clear(), at_places_.clear(), free_deposits_.clear();
  barriers_ = {};
  for (auto& fibre : fibres_) {
    reset(fibre->context, &Block::enter);
    fibre->thread = -1;
    fibre->copies.clear(), fibre->groups.clear();
    idle_.push_back(fibre.get());
  }
  for (auto& deposits : all_deposits_) free_deposits_.push_back(deposits.get());
}

}  // namespace morph_cuda
