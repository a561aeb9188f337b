// One block of threads, which take turns on one thread of the host.
#pragma once

#include "fibres.h"
#include "morph/launch.h"
#include "sanitizer/checks.h"

#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <random>
#include <vector>

namespace morph_cuda {

extern __thread Place place;

struct Copy {
  void* to;
  const void* from;
  size_t size, zeros;  // bytes; the last of them are 0
  const void* site;
};

// A block's threads run one after the other on one stack, as a loop, until one waits; its stack is then kept, and the
// loop goes on on another. A thread that is let on is run before one that has not begun.
class Block : public Turns {
 public:
  Block();
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  static Block& of_this_thread();
  static Block* running();  // null: no thread of a kernel runs on this thread of the host

  void prepare(dim3 grid, dim3 block, size_t shared, const Launched& what, void* closure, uint64_t shuffle,
               sanitizer::Launch* checked);
  void run(int64_t number);  // of the block in its grid; throws what a thread threw
  bool run_regions(int64_t from, int64_t to);  // of blocks; false: has done nothing. Throws what a thread threw
  bool runs_regions() const { return regions_ != Outcome::none; }

  // Called by the block's threads.
  void wait_for_block(int vote, const void* site);
  void arrive_at(unsigned barrier, unsigned threads, bool waits);
  void wait_at(const void* place);
  void wake(const void* place);
  Votes votes() const { return released_; }
  Deposits* exchange(unsigned mask, const void* mine, size_t bytes, const void* site);
  void take_back(Deposits* deposits) { free_deposits_.push_back(deposits); }
  bool is_deposit(uintptr_t address) const;
  void copy_later(const Copy& copy);
  void end_group_of_copies();
  void wait_for_copies(size_t groups_left);
  unsigned lanes_here(const void* site);
  void let_others_on();
  void go_on_later();  // when no other thread can run
  void* dynamic_shared() const { return dynamic_; }
  size_t dynamic_size() const { return shared_; }
  bool is_running() const { return current_; }
  int thread() const { return current_->thread; }
  const char* stack() const { return stack_of(current_->context); }  // of the thread that runs
  [[noreturn]] void fail(std::exception_ptr error);
  // As a GPU does at an illegal address.
  [[noreturn]] void fail_access(cudaError_t error, const std::string& what, const void* site, const char* check);
  [[noreturn]] void fail_unwritten(const std::string& what, const void* site);  // memory is read that nothing wrote

 private:
  struct Fibre {
    Context* context;
    int thread = -1;
    morph_index index;              // threadIdx
    unsigned mask = 0;              // the lanes that it waits for
    const void* site = nullptr;     // where it waits, or for whom: a place in memory
    alignas(16) unsigned char deposit[16];
    Deposits* deposits = nullptr;   // what it was given
    unsigned together = 0;          // the lanes that came to its site
    std::vector<Copy> copies;       // asynchronous ones, not made yet
    std::vector<size_t> groups;     // where each group of them ends
  };
  struct Barrier {
    unsigned arrived = 0;
    std::vector<Fibre*> parked;
  };
  struct Warp {
    unsigned alive, arrived, at_site;
    Fibre* waiting[32];
  };

  static void enter();
  friend Turns;
  void run_own();
  void rethrow();
  bool take_turn();
  void note_turns();
  void begin(int thread);
  void place_thread(const Fibre& fibre);
  void leave(int thread);
  static std::exception_ptr race_error(const std::string& text);
  std::vector<int> threads_of(const std::vector<Fibre*>& parked) const;
  static void make_copies(Fibre& fibre, size_t count);
  void suspend();
  void resume(Fibre* fibre);
  void go_to(Context* from, Fibre* fibre);
  Fibre* idle_fibre();
  Fibre* next_fibre();
  void make_ready(Fibre* fibre);
  bool release_stuck();
  bool release_full_warps();
  bool release_block();
  void check_barrier();
  bool release_sites();
  bool release_arrived();
  void release_group(Warp& warp, unsigned lanes);
  unsigned group_of(const Warp& warp, int lane) const;
  Deposits* snapshot(const Warp& warp, unsigned lanes);
  void abandon();
  Warp& warp_of(int thread) { return warps_[size_t(thread) >> 5]; }

  enum class Outcome { none, pending, ran, refused };

  const Launched* what_ = nullptr;
  void* closure_ = nullptr;
  Outcome regions_ = Outcome::none;   // of blocks that run as regions
  int64_t from_ = 0, to_ = 0;         // these
  dim3 grid_, block_;
  int done_ = 0, at_barrier_ = 0;
  std::vector<int> order_;            // in which threads begin; empty: by number
  uint64_t shuffle_ = 0;
  std::mt19937_64 random_;
  Context* own_;
  Place* const place_;                // of this thread of the host
  Fibre* current_ = nullptr;
  std::vector<std::unique_ptr<Fibre>> fibres_;
  std::vector<Fibre*> idle_, parked_, at_places_;
  std::array<Barrier, 16> barriers_;  // those with a number, of some of the threads
  std::deque<Fibre*> ready_, later_;
  std::vector<Warp> warps_;
  std::vector<std::unique_ptr<Deposits>> all_deposits_;
  std::vector<Deposits*> free_deposits_;
  Votes voting_{0, 0}, released_{0, 0};
  std::vector<unsigned char> memory_;
  void* dynamic_ = nullptr;
  size_t shared_ = 0;
  std::unique_ptr<sanitizer::Checks> checks_;  // null: there are none
  std::exception_ptr error_;
};

}  // namespace morph_cuda
