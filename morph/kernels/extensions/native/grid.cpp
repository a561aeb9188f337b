// See grid.h.
#include "grid.h"

#include "block.h"
#include "faults.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

namespace morph_cuda {
namespace {

constexpr int64_t kGrain = 4096;  // threads of a kernel that are worth a thread of the host
constexpr unsigned kLooks = 64;   // at the same place: then a thread waits
constexpr size_t kMostFurther = 1024;  // threads of the host
constexpr std::chrono::microseconds kPatience{50};

// MORPH_SHUFFLE: the seed of an order of threads and blocks; 0: by number.
uint64_t shuffle() {
  static const uint64_t seed = [] {
    const char* set = std::getenv("MORPH_SHUFFLE");
    return set ? std::strtoull(set, nullptr, 10) : 0ull;
  }();
  return seed ? seed * 0x9e3779b97f4a7c15ull : 0;
}

std::vector<int64_t> shuffled_blocks(int64_t count, uint64_t seed) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  return order;
}

class PlaceKept {  // of a thread of the host that is in a kernel already
 public:
  PlaceKept() : before_(place) {}
  ~PlaceKept() { place = before_; }

 private:
  Place before_;
};

thread_local Grid* current = nullptr;
thread_local bool cooperative = false;
thread_local bool launching = false;

}  // namespace

Grid* Grid::of_this_thread() { return current; }

Grid::Grid(dim3 grid, dim3 block, size_t shared, cudaStream_t stream, const Launched& what, void* closure)
    : grid_(grid), block_(block), shared_(shared), stream_(stream), what_(what), closure_(closure), cooperative_(cooperative),
      shuffle_(shuffle()), blocks_(int64_t(grid.x) * grid.y * grid.z),
      checked_(sanitizer::Launch::wanted(__builtin_frame_address(0))) {
  if (shuffle_) order_ = shuffled_blocks(blocks_, shuffle_);
}

void Grid::run() {
  DeviceAccess access;
  set_launching();
  at::parallel_for(0, blocks_, checked_ ? blocks_ : grain(), [&](int64_t from, int64_t to) { run_blocks(to - from); });
  for (;;) {
    std::vector<std::thread> further;
    {
      std::lock_guard<std::mutex> lock(lock_);
      std::swap(further, further_);
    }
    if (further.empty()) break;
    for (std::thread& each : further) each.join();
  }
  if (error_) std::rethrow_exception(error_);
  if (checked_) checked_->end(block_, stream_);
}

void Grid::run_blocks(int64_t most) {
  PlaceKept kept;
  catch_faults();
  Grid* before = std::exchange(current, this);
  Block& turns = Block::of_this_thread();
  try {
    turns.prepare(grid_, block_, shared_, what_, closure_, shuffle_, checked_.get());
    const int64_t step = has_regions() ? grain() : 1;
    for (int64_t i; most > 0 && !failed_ && (i = next_.fetch_add(step)) < blocks_; most -= step, steps_++) {
      run_some(turns, i, std::min(i + step, blocks_));
      if (checked_ && checked_->has_found()) break;
    }
  } catch (...) {
    end_with(std::current_exception());
  }
  current = before;
}

bool Grid::has_regions() const { return what_.regions && !shuffle_ && !checked_ && !cooperative_; }

// Enough to be worth a thread of the host.
int64_t Grid::grain() const { return std::max<int64_t>(1, kGrain / (int64_t(block_.x) * block_.y * block_.z)); }

void Grid::run_some(Block& turns, int64_t from, int64_t to) {
  if (has_regions() && turns.run_regions(from, to)) return;
  for (; from < to && !failed_; from++) turns.run(order_.empty() ? from : order_[size_t(from)]);
}

void Grid::end_with(std::exception_ptr error) {
  std::lock_guard<std::mutex> lock(lock_);
  if (!error_) error_ = std::move(error);
  failed_ = true;
}

void Grid::begin_another() {
  std::lock_guard<std::mutex> lock(lock_);
  bool may = cooperative_ || further_.size() < kMostFurther;  // all blocks of a cooperative launch live at once
  if (may && next_ < blocks_) further_.emplace_back([this] { run_blocks(blocks_); });
}

// Another thread of the host may be about to write what is waited for: it is given some time first.
void Grid::wait_for_another() {
  if (failed_) Block::of_this_thread().fail(std::make_exception_ptr(std::runtime_error("another block has failed")));
  int64_t seen = steps_;
  std::this_thread::sleep_for(kPatience);
  if (seen == steps_) begin_another();
}

void Grid::wait_for_all() {
  int64_t round = rounds_;
  if (++arrived_ < blocks_) {
    while (round == rounds_) wait_for_another();
  } else {
    arrived_ = 0;
    if (checked_) checked_->pass_grid();
    rounds_++;
  }
}

void looked(const void* at) {
  thread_local const void* last = nullptr;
  thread_local unsigned looks = 0;
  if (at && last != at) looks = 0, last = at;
  if (++looks < kLooks || !current) return;
  looks = 0;
  if (Block::of_this_thread().runs_regions()) return;  // which wait for nobody: sums of 0, as it happens
  Block::of_this_thread().go_on_later();
  current->wait_for_another();
}

void wait_for_grid() {
  if (!current->is_cooperative())
    fail("a barrier of the grid in a kernel that cudaLaunchCooperativeKernel did not launch", __FILE__, __LINE__, "grid_group::sync");
  wait_for_block();
  if (!thread_rank()) current->wait_for_all();
  wait_for_block();
}

void set_launching() { launching = true; }
bool is_launching() { return launching; }
bool is_cooperative() { return current && current->is_cooperative(); }

Cooperative::Cooperative(bool wanted) : before_(std::exchange(cooperative, wanted)) {}
Cooperative::~Cooperative() { cooperative = before_; }
bool Cooperative::is_wanted() { return cooperative; }

}  // namespace morph_cuda
