// The turns of a block's threads.
#include "block.h"

#include "grid.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace morph_cuda {

__thread Place place;
Place& here() noexcept { return place; }

namespace {

constexpr size_t kAligned = 1024;  // as kernels expect that swizzle rows of 128 bytes

__thread Block* kept = nullptr;  // until the thread of the host ends

}  // namespace

Block& Block::of_this_thread() {
  if (kept) return *kept;
  thread_local std::unique_ptr<Block> owner;
  owner.reset(kept = new Block);
  return *kept;
}

Block* Block::running() { return kept && kept->current_ ? kept : nullptr; }

Block::Block() : own_(own_context()), place_(&place) {}

Block::~Block() {
  for (auto& fibre : fibres_) free_context(fibre->context);
  free_own_context(own_);
  kept = nullptr;
}

void Block::prepare(dim3 grid, dim3 block, size_t shared, const Launched& what, void* closure, uint64_t shuffle,
                    sanitizer::Launch* checked) {
  grid_ = grid, block_ = block, what_ = &what, closure_ = closure, shuffle_ = shuffle;
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
  none_waited_ = !shuffle_ && !checks_;
  if (checks_) checks_->begin(number, count_, reinterpret_cast<uintptr_t>(what_->threads), shared_);
  while (done_ < count_ && !error_) {
    if (Fibre* fibre = next_fibre()) resume(fibre);
    else if (!release_stuck()) error_ = std::make_exception_ptr(std::runtime_error("the threads of a block wait for each other"));
  }
  rethrow();
}

bool Block::run_regions(int64_t from, int64_t to) {
  begun_ = count_, none_waited_ = false;
  from_ = from, to_ = to, regions_ = Outcome::pending;
  resume(idle_fibre());
  bool has_run = std::exchange(regions_, Outcome::none) != Outcome::refused;
  rethrow();
  return has_run;
}

void Block::rethrow() {
  if (!error_) return;
  abandon();
  std::rethrow_exception(std::exchange(error_, nullptr));
}

Block::Fibre* Block::next_fibre() {
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
  sanitizer::active = checks_.get();
  go_to(own_, fibre);
  sanitizer::active = nullptr;
  current_ = nullptr;
}

void Block::go_to(Context* from, Fibre* fibre) {
  current_ = fibre;
  if (fibre->thread >= 0) place_thread(*fibre);
  if (checks_) checks_->run_on(stack_of(fibre->context));
  switch_to(from, fibre->context);
}

void Block::enter() {
  Block& block = *kept;
  for (;;) {
    try {
      block.run_own();
    } catch (...) {
      block.error_ = std::current_exception();
      block.none_waited_ = false;
      if (block.runs_regions()) block.regions_ = Outcome::ran;
    }
    block.current_->thread = -1;
    block.idle_.push_back(block.current_);
    block.suspend();
  }
}

void Block::run_own() {
  if (!runs_regions()) return what_->threads(closure_, *this);
  regions_ = what_->regions(closure_, grid_, block_, from_, to_) ? Outcome::ran : Outcome::refused;
}

bool Turns::next() { return static_cast<Block*>(this)->take_turn(); }

bool Block::take_turn() {
  if (none_waited_) {
    none_waited_ = false, done_ = count_;
    return false;
  }
  if (current_->thread >= 0) leave(std::exchange(current_->thread, -1));
  if (begun_ == count_ || error_ || !ready_.empty()) return false;
  int number = begun_++;
  begin(order_.empty() ? number : order_[size_t(number)]);
  return true;
}

// Before the first thread waits: the threads before it have ended.
void Block::note_turns() {
  if (regions_ == Outcome::pending) fail(std::make_exception_ptr(std::runtime_error("a thread waits in a kernel that was compiled as having no such place")));
  if (!std::exchange(none_waited_, false)) return;
  current_->thread = begun_ - 1, current_->index = place_->thread;
  for (int thread = 0; thread < current_->thread; thread++) leave(thread);
}

void Block::leave(int thread) {
  if (!current_->copies.empty()) make_copies(*current_, current_->copies.size());
  done_++;
  if (checks_ && checks_->barriers()) checks_->barriers()->end_thread(thread);
  warp_of(thread).alive &= ~(1u << (thread & 31));
}

void Block::begin(int thread) {
  unsigned t = unsigned(thread), x = t, y = 0, z = 0;
  if (t >= block_.x) x = t % block_.x, y = t / block_.x % block_.y, z = t / block_.x / block_.y;
  current_->thread = thread;
  current_->index = {x, y, z};
  place_->thread = {x, y, z}, place_->rank = t;  // not copied: to read at once what was written in parts is slow
}

void Block::place_thread(const Fibre& fibre) { place_->thread = fibre.index, place_->rank = unsigned(fibre.thread); }

// The next thread goes on from here; without one `run` looks who may.
void Block::suspend() {
  note_turns();
  Fibre* own = current_;
  Fibre* fibre = error_ ? nullptr : next_fibre();
  if (fibre == own) return;
  if (!ready_.empty()) prefetch(ready_.front()->context);
  if (fibre) go_to(own->context, fibre);
  else switch_to(own->context, own_);
}

void Block::make_ready(Fibre* fibre) {
  if (!shuffle_ || ready_.empty()) return ready_.push_back(fibre);
  ready_.insert(ready_.begin() + std::ptrdiff_t(random_() % (ready_.size() + 1)), fibre);
}

void Block::wait_for_block(int vote, const void* site) {
  at_barrier_++;
  current_->site = site;
  voting_.count += vote, voting_.voters++;
  parked_.push_back(current_);
  suspend();
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
    return suspend();
  }
  at.arrived = 0;
  if (checks_) checks_->pass(threads_of(at.parked));
  for (Fibre* fibre : at.parked) make_ready(fibre);
  at.parked.clear();
}

void Block::wait_at(const void* place) {
  current_->site = place;
  at_places_.push_back(current_);
  suspend();
}

void Block::wake(const void* place) {
  auto sleeps = [&](const Fibre* each) { return each->site != place; };
  auto woken = std::stable_partition(at_places_.begin(), at_places_.end(), sleeps);
  for (auto each = woken; each != at_places_.end(); ++each) make_ready(*each);
  at_places_.erase(woken, at_places_.end());
}

void Block::copy_later(const Copy& copy) {
  note_turns();
  current_->copies.push_back(copy);
}

void Block::end_group_of_copies() {
  note_turns();
  current_->groups.push_back(current_->copies.size());
}

// Copies end late on a GPU too: the others read what was there before until they wait themselves. And lanes wait
// together there: what reads another's copy right after (hadacore) finds it.
void Block::wait_for_copies(size_t groups_left) {
  Fibre& own = *current_;
  if (own.groups.size() <= groups_left) return;
  go_on_later();
  make_copies(own, own.groups[own.groups.size() - groups_left - 1]);
  let_others_on();
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

void Block::let_others_on() {
  if (!shuffle_) go_on_later();
}

void Block::go_on_later() {
  later_.push_back(current_);
  suspend();
}

// No thread can run: releases those whose wait is over, in the order of how sure that is.
bool Block::release_stuck() {
  return release_full_warps() || release_block() || release_sites() || release_arrived();
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
