// A block as loops over its threads, one for each region between its barriers, in the place of threads that wait: what
// the translation makes of a kernel whose barriers all threads reach together (MCUDA, Stratton et al., LCPC 2008).
#pragma once

#include <climits>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "morph/threads.h"

namespace morph_cuda {

struct RegionThread {  // whose threadIdx.x the compiler knows for the variable of a loop
  morph_index thread, block, block_size, grid_size;
  int x;
  // `first + threadIdx.x`, in a way that compilers know not to wrap around; `fits` has been asked.
  unsigned along(unsigned first) const { return unsigned(int(first) + x); }
  template <class T>
  auto along(T first) const { return first + thread.x; }
};
// Whether no sum of a thread's place and a number below this one wraps around.
inline bool fits(uint64_t end) { return end <= INT_MAX - 1024; }

// Where the stack of a block's regions begins.
inline thread_local uintptr_t stack_of_regions = 0;

// What lives across a barrier may not hold the address of a thread's variable, which lies elsewhere after it. The
// translation refuses such kernels where it sees it; a constructor may store an address unseen.
[[gnu::noinline]] inline void refuse_own_addresses(const void* value, size_t bytes) {
  uintptr_t stack = uintptr_t(__builtin_frame_address(0)), word;
  for (size_t i = 0; i + sizeof(word) <= bytes; i += sizeof(word)) {
    std::memcpy(&word, static_cast<const char*>(value) + i, sizeof(word));
    if (word >= stack && word < stack_of_regions)
      throw std::runtime_error("a kernel keeps the address of a thread's own variable over a barrier; set MORPH_SHUFFLE=1");
  }
}
template <class T>
void refuse_own_addresses(const T& value) {
  constexpr bool is_number = std::is_arithmetic_v<std::remove_all_extents_t<T>>;
  if constexpr (!is_number && sizeof(T) >= sizeof(void*)) refuse_own_addresses(&value, sizeof(T));
}

// A variable of each thread that lives across a barrier, of the type that it was declared with.
template <class T>
struct KeptValue {
  static_assert(!std::is_reference_v<T> && std::is_trivially_copy_constructible_v<T>);
  T value;
  explicit KeptValue(const T& from) : value(from) { refuse_own_addresses(from); }
  T& get() { return value; }
};
template <class T, size_t count>
struct KeptValue<T[count]> {
  static_assert(std::is_trivially_copyable_v<T>);
  std::remove_const_t<T> value[count];
  explicit KeptValue(const T (&from)[count]) {
    std::memcpy(&value, &from, sizeof(value));
    refuse_own_addresses(from);
  }
  T (&get())[count] { return value; }
};
template <class T>
using NoPointer = std::enable_if_t<!std::is_pointer_v<T>, T>;
template <class... T>
inline auto kept_values(const T&... values) {
  return std::tuple<KeptValue<T>...>(values...);
}
template <size_t i, class Values>
inline auto& kept_at(Values& values) { return std::get<i>(values).get(); }

template <class T>
class OfThreads {  // a T of each thread
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  template <class Fill>
  OfThreads(size_t count, Fill fill) : all_(static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(alignof(T))))) {
    fill(*this);
  }
  ~OfThreads() { ::operator delete(all_, std::align_val_t(alignof(T))); }
  OfThreads(const OfThreads&) = delete;
  OfThreads& operator=(const OfThreads&) = delete;
  T& operator[](size_t i) { return all_[i]; }

 private:
  T* const all_;
};

class Regions {
 public:
  Regions(const dim3& grid, const dim3& block) {
    at_.block_size = {block.x, block.y, block.z}, at_.grid_size = {grid.x, grid.y, grid.z};
    at_.thread = {0, 0, 0}, at_.x = 0;
    here().block_size = at_.block_size, here().grid_size = at_.grid_size;
  }
  void begin(int64_t number) {  // the block of that number
    const morph_index& grid = at_.grid_size;
    at_.block = {unsigned(number % grid.x), unsigned(number / grid.x % grid.y), unsigned(number / grid.x / grid.y)};
    here().block = at_.block;
  }
  void go_on() {  // to the next block; a division for each would take longer than a small block
    at_.block.x++;
    if (at_.block.x == at_.grid_size.x) {
      at_.block.x = 0;
      if (++at_.block.y == at_.grid_size.y) at_.block.y = 0, at_.block.z++;
    }
    here().block = at_.block;
  }
  const RegionThread& block() const { return at_; }

  // By `along_grid`, whose threads in a row `fits` has been asked for, the loop's variable is a thread's place in that row:
  // GCC splits the loop where the place is compared with an end (-fsplit-loops), and vectorizes what has no comparison.
  template <bool along_grid = false, class F, class... T>
  void each(const F& region, OfThreads<T>&... kept) const {
    const RegionThread block = at_;
    const int start = along_grid ? int(block.block.x * block.block_size.x) : 0;
    const int end = start + int(block.block_size.x);
    size_t i = 0;
    for (unsigned z = 0; z < block.block_size.z; z++)
      for (unsigned y = 0; y < block.block_size.y; y++)
        for (int place = start; place < end; place++, i++) {
          const int x = place - start;
          const RegionThread at{{unsigned(x), y, z}, block.block, block.block_size, block.grid_size, x};
          region(at, kept[i]...);
        }
  }
  // For regions that change their copies of the kernel's arguments.
  template <class F>
  void each_anew(const F& region) const {
    each([&](const RegionThread& at) { F own(region); own(at); });
  }
  // Returns what the region returns for each thread.
  template <class F, class... T>
  auto keep(const F& region, OfThreads<T>&... kept) const {
    using Values = decltype(region(at_, kept[0]...));
    const morph_index& size = at_.block_size;
    return OfThreads<Values>(size_t(size.x) * size.y * size.z, [&](OfThreads<Values>& all) {
      each([&](const RegionThread& at, Values& own, auto&... others) { new (&own) Values(region(at, others...)); }, all, kept...);
    });
  }

 private:
  RegionThread at_;
};

}  // namespace morph_cuda
