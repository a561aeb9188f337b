// What a kernel sees of its thread: its place in block and grid, barriers, and the exchange between the lanes of a warp.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "morph/vectors.h"

struct morph_index {  // the type of threadIdx and its kin
  unsigned x, y, z;
  operator uint3() const { return {x, y, z}; }
  operator dim3() const { return {x, y, z}; }
};

namespace morph_cuda {

struct Place {
  morph_index thread, block, block_size, grid_size;
  unsigned rank;  // of the thread in its block
};
// Of the calling thread. What is constant is asked once for a whole loop over threads, where a variable of a thread is not.
__attribute__((const)) Place& here() noexcept;

// The loop over those of a block's threads that have not begun, on one stack; it goes on on another when one waits.
class Turns {
 public:
  template <class Thread>
  void run(Thread thread) {
#ifdef MORPH_CUDA_CHECKED
    while (next()) thread();  // which is not watched
#else
    Place& own = here();
    const morph_index size = own.block_size;
    const int count = none_waited_ ? count_ : 0;
    morph_index at{0, 0, 0};
    for (int i = 0;; thread()) {  // once in the code: lanes are told apart by where in it they wait
      if (i < count && none_waited_) {
        own.thread = at, own.rank = unsigned(i), begun_ = ++i;
        if (++at.x == size.x) {
          at.x = 0;
          if (++at.y == size.y) at.y = 0, ++at.z;
        }
      } else if (!next()) {
        return;
      }
    }
#endif
  }

 protected:
  bool next();  // places the next thread; false: none is left for this loop

  int begun_ = 0, count_ = 0;
  bool none_waited_ = false;  // then nothing is noted of the threads that have ended
};

// The values that the lanes of a warp deposited, as they were when the last of them arrived.
struct Deposits {
  unsigned arrived;  // a bit for each lane
  unsigned readers;
  alignas(16) unsigned char value[32][16];
};

constexpr unsigned kAll = 0xffffffffu;

void wait_for_block();
void arrive_at(unsigned barrier, unsigned threads, bool waits);  // a barrier of PTX with a number; 0 threads: all
void wait_at(const void* place);          // until another thread of the block wakes those there
void wake(const void* place);
void looked(const void* at);             // at memory that another may write, or nullptr: again and again is to wait
void wait_for_grid();
bool is_cooperative();                   // whether all blocks of the launch live at once
struct Votes {
  int count, voters;
};
Votes vote(bool value);                  // a barrier that counts
void wait_for_warp(unsigned mask);
Deposits* exchange(unsigned mask, const void* mine, size_t bytes);
void has_read(Deposits* deposits);
void copy_later(void* to, const void* from, size_t size, size_t zeros);  // bytes, of which the last are 0
void end_group_of_copies();
void wait_for_copies(size_t groups_left);
unsigned lanes_here(const void* site);   // the lanes of the warp that have come to this place of the code
void let_others_on();                    // at the end of a loop's body that has a barrier: no thread runs ahead
void* dynamic_shared();
[[noreturn]] void fail(const char* what, const char* file, unsigned line, const char* function);
[[noreturn]] void exceed_bounds(long most, const char* kernel);

// What a kernel with `__launch_bounds__` begins with.
inline void bound_threads(long most, const char* kernel = __builtin_FUNCTION()) {
  const morph_index& size = here().block_size;
  if (long(size.x) * size.y * size.z > most) exceed_bounds(most, kernel);
}

inline int thread_rank() { return int(here().rank); }
inline int lane() { return int(here().rank & 31); }

// Deposits a value; `read(lane)` is another lane's.
template <class T>
class Exchange {
  static_assert(sizeof(T) <= 16, "lanes exchange values of up to 16 bytes");

 public:
  Exchange(unsigned mask, const T& mine) : deposits_(exchange(mask, &mine, sizeof(T))) {}
  ~Exchange() { has_read(deposits_); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  unsigned arrived() const { return deposits_->arrived; }
  bool has(int lane) const { return lane >= 0 && lane < 32 && (deposits_->arrived >> lane & 1); }
  T read(int lane) const {
    alignas(T) unsigned char bytes[sizeof(T)] = {};
    if (has(lane)) std::memcpy(bytes, deposits_->value[lane], sizeof(T));
    return *reinterpret_cast<T*>(bytes);
  }

 private:
  Deposits* deposits_;
};

// The value of `source`, or one's own where that lane is not `inside`. Of a lane that takes no part CUDA does not define
// the value; an H100 gives 0.
template <class T>
inline T shuffled(unsigned mask, const T& mine, int source, bool inside) {
  Exchange<T> all(mask, mine);
  return inside ? all.read(source) : mine;
}

template <class T, class F>
inline T reduced(unsigned mask, const T& mine, F f) {
  Exchange<T> all(mask, mine);
  T result = mine;
  bool first = true;
  for (int i = 0; i < 32; i++) {
    if (!all.has(i)) continue;
    result = first ? all.read(i) : f(result, all.read(i));
    first = false;
  }
  return result;
}

}  // namespace morph_cuda

static constexpr int warpSize = 32;

inline void __syncthreads() { morph_cuda::wait_for_block(); }
inline int __syncthreads_count(int p) { return morph_cuda::vote(p != 0).count; }
inline int __syncthreads_or(int p) { return morph_cuda::vote(p != 0).count != 0; }
inline int __syncthreads_and(int p) {
  auto votes = morph_cuda::vote(p != 0);
  return votes.count == votes.voters;
}
inline void __syncwarp(unsigned mask = morph_cuda::kAll) { morph_cuda::wait_for_warp(mask); }
inline void __nanosleep(unsigned) { morph_cuda::looked(nullptr); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
// What the block's other threads write just before it is there too, as they keep step on a GPU: a block often tells others
// by one thread that all is written.
inline void __threadfence() {
  morph_cuda::let_others_on();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence_system() { __threadfence(); }
__attribute__((noinline)) inline unsigned __activemask() { return morph_cuda::lanes_here(__builtin_return_address(0)); }

template <class T>
inline T __shfl_sync(unsigned mask, T v, int source, int width = 32) {
  int own = morph_cuda::lane();
  return morph_cuda::shuffled(mask, v, (own & ~(width - 1)) | (source & (width - 1)), true);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32) {
  int own = morph_cuda::lane(), source = own ^ bits;
  return morph_cuda::shuffled(mask, v, source, (source & ~(width - 1)) <= (own & ~(width - 1)));
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32) {
  int own = morph_cuda::lane();
  return morph_cuda::shuffled(mask, v, own + int(by), (own & (width - 1)) + int(by) < width);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32) {
  int own = morph_cuda::lane();
  return morph_cuda::shuffled(mask, v, own - int(by), (own & (width - 1)) >= int(by));
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  morph_cuda::Exchange<int> all(mask, predicate);
  unsigned result = 0;
  for (int i = 0; i < 32; i++)
    if (all.has(i) && all.read(i)) result |= 1u << i;
  return result;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }
template <class T>
inline unsigned __match_any_sync(unsigned mask, T v) {
  morph_cuda::Exchange<T> all(mask, v);
  unsigned result = 0;
  for (int i = 0; i < 32; i++)
    if (all.has(i) && all.read(i) == v) result |= 1u << i;
  return result;
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T v, int* equal) {
  morph_cuda::Exchange<T> all(mask, v);
  *equal = 1;
  for (int i = 0; i < 32; i++)
    if (all.has(i) && !(all.read(i) == v)) *equal = 0;
  return *equal ? mask : 0;
}

// The forms without a mask, which CUDA had until Volta: the lanes that come here.
template <class T> inline T __shfl(T v, int source, int width = 32) { return __shfl_sync(morph_cuda::kAll, v, source, width); }
template <class T> inline T __shfl_xor(T v, int bits, int width = 32) { return __shfl_xor_sync(morph_cuda::kAll, v, bits, width); }
template <class T> inline T __shfl_down(T v, int by, int width = 32) { return __shfl_down_sync(morph_cuda::kAll, v, by, width); }
template <class T> inline T __shfl_up(T v, int by, int width = 32) { return __shfl_up_sync(morph_cuda::kAll, v, by, width); }
inline unsigned __ballot(int predicate) { return __ballot_sync(morph_cuda::kAll, predicate); }
inline int __any(int predicate) { return __any_sync(morph_cuda::kAll, predicate); }
inline int __all(int predicate) { return __all_sync(morph_cuda::kAll, predicate); }

#define MORPH_REDUCTION(NAME, TYPE, RESULT)                                                  \
  inline TYPE __reduce_##NAME##_sync(unsigned mask, TYPE v) {                                \
    return morph_cuda::reduced(mask, v, [](TYPE a, TYPE b) -> TYPE { return RESULT; });      \
  }
MORPH_REDUCTION(add, int, a + b)
MORPH_REDUCTION(add, unsigned, a + b)
MORPH_REDUCTION(min, int, a < b ? a : b)
MORPH_REDUCTION(min, unsigned, a < b ? a : b)
MORPH_REDUCTION(max, int, a > b ? a : b)
MORPH_REDUCTION(max, unsigned, a > b ? a : b)
MORPH_REDUCTION(and, unsigned, a & b)
MORPH_REDUCTION(or, unsigned, a | b)
MORPH_REDUCTION(xor, unsigned, a ^ b)
#undef MORPH_REDUCTION
