// Cooperative groups of a block: the block, its tiles, and the lanes that come together.
#pragma once

#include "morph/cuda.h"

#ifdef __CUDACC__  // sources of the host may include it, and see nothing

#define _CG_ASM_PTR_CONSTRAINT "l"  // of a pointer in inline PTX: programs use this name of CUDA's own

namespace cooperative_groups {

namespace details {
// A barrier of many blocks adds up to the highest bit in each round; programs use this function of CUDA's own.
inline bool bar_has_flipped(unsigned before, unsigned now) { return (before ^ now) >> 31; }
}  // namespace details

class thread_block {
 public:
  void sync() const { __syncthreads(); }
  static unsigned thread_rank() { return unsigned(morph_cuda::thread_rank()); }
  static unsigned size() { return morph_cuda::here().block_size.x * morph_cuda::here().block_size.y * morph_cuda::here().block_size.z; }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() { return morph_cuda::here().block; }
  static dim3 thread_index() { return morph_cuda::here().thread; }
  static dim3 group_dim() { return morph_cuda::here().block_size; }
  static dim3 dim_threads() { return morph_cuda::here().block_size; }
};
inline thread_block this_thread_block() { return {}; }

class grid_group {
 public:
  static unsigned long long block_rank() {
    return morph_cuda::here().block.x + static_cast<unsigned long long>(morph_cuda::here().grid_size.x) * (morph_cuda::here().block.y + static_cast<unsigned long long>(morph_cuda::here().grid_size.y) * morph_cuda::here().block.z);
  }
  static unsigned long long num_blocks() { return static_cast<unsigned long long>(morph_cuda::here().grid_size.x) * morph_cuda::here().grid_size.y * morph_cuda::here().grid_size.z; }
  static unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
  static unsigned long long size() { return num_blocks() * thread_block::size(); }
  static unsigned long long num_threads() { return size(); }
  static dim3 group_dim() { return morph_cuda::here().grid_size; }
  static bool is_valid() { return morph_cuda::is_cooperative(); }
  void sync() const { morph_cuda::wait_for_grid(); }
};
inline grid_group this_grid() { return {}; }

// Lanes of a warp; `mask_` has a bit for each.
class LaneGroup {
 public:
  explicit LaneGroup(unsigned mask) : mask_(mask) {}
  void sync() const { __syncwarp(mask_); }
  unsigned mask() const { return mask_; }
  unsigned size() const { return unsigned(__popc(mask_)); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const { return unsigned(__popc(mask_ & ((1u << morph_cuda::lane()) - 1))); }
  template <class T> T shfl(T v, int source) const { return morph_cuda::shuffled(mask_, v, lane_of(source), true); }
  template <class T> T shfl_up(T v, unsigned by) const { return from(v, int(thread_rank()) - int(by)); }
  template <class T> T shfl_down(T v, unsigned by) const { return from(v, int(thread_rank()) + int(by)); }
  template <class T> T shfl_xor(T v, unsigned bits) const { return from(v, int(thread_rank() ^ bits)); }
  int any(int predicate) const { return __any_sync(mask_, predicate); }
  int all(int predicate) const { return __all_sync(mask_, predicate); }
  unsigned ballot(int predicate) const { return packed(__ballot_sync(mask_, predicate)); }
  template <class T> unsigned match_any(T v) const { return packed(__match_any_sync(mask_, v)); }

 private:
  int lane_of(int rank) const {
    unsigned left = mask_;
    for (; rank > 0 && left; rank--) left &= left - 1;
    return left ? __builtin_ctz(left) : -1;
  }
  template <class T>
  T from(T v, int rank) const {
    bool inside = rank >= 0 && rank < int(size());
    return morph_cuda::shuffled(mask_, v, inside ? lane_of(rank) : -1, inside);
  }
  unsigned packed(unsigned lanes) const {
    unsigned result = 0, place = 0;
    for (unsigned left = mask_; left; left &= left - 1, place++)
      if (lanes >> __builtin_ctz(left) & 1) result |= 1u << place;
    return result;
  }

  unsigned mask_;
};

template <unsigned N, class Parent = void>  // without a parent it is of any
class thread_block_tile : public LaneGroup {
  static_assert(N <= 32 && (N & (N - 1)) == 0, "a tile is a part of a warp");

 public:
  thread_block_tile(unsigned place, unsigned tiles) : LaneGroup(tile_mask()), place_(place), tiles_(tiles) {}
  template <class P, class = std::enable_if_t<std::is_void_v<Parent> && !std::is_void_v<P>>>
  thread_block_tile(const thread_block_tile<N, P>& tile) : thread_block_tile(tile.meta_group_rank(), tile.meta_group_size()) {}
  static constexpr unsigned size() { return N; }
  static constexpr unsigned num_threads() { return N; }
  unsigned thread_rank() const { return thread_block::thread_rank() % N; }
  unsigned meta_group_rank() const { return place_; }
  unsigned meta_group_size() const { return tiles_; }

 private:
  static unsigned tile_mask() {
    unsigned lane = thread_block::thread_rank() % 32;
    return N == 32 ? morph_cuda::kAll : ((1u << N) - 1) << (lane / N * N);
  }

  unsigned place_, tiles_;
};
template <unsigned N, class Parent>
inline thread_block_tile<N, Parent> tiled_partition(const Parent& parent) {
  return {unsigned(parent.thread_rank()) / N, (unsigned(parent.size()) + N - 1) / N};
}

using coalesced_group = LaneGroup;

// A group of any kind: a block, or lanes of a warp.
class thread_group {
 public:
  thread_group(const thread_block&) : lanes_(0) {}
  thread_group(const LaneGroup& lanes) : lanes_(lanes) {}
  void sync() const { is_block() ? this_thread_block().sync() : lanes_.sync(); }
  unsigned size() const { return is_block() ? thread_block::size() : lanes_.size(); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const { return is_block() ? thread_block::thread_rank() : lanes_.thread_rank(); }

 private:
  bool is_block() const { return !lanes_.mask(); }

  LaneGroup lanes_;
};
// Parts of a block, of `size` threads: a power of two, at most a warp.
inline thread_group tiled_partition(const thread_group&, unsigned size) {
  unsigned lane = thread_block::thread_rank() % 32;
  return LaneGroup(size >= 32 ? morph_cuda::kAll : ((1u << size) - 1) << (lane / size * size));
}
inline coalesced_group coalesced_threads() { return LaneGroup(__activemask()); }
template <class G, class L>
inline coalesced_group labeled_partition(const G& group, L label) {
  static_assert(std::is_integral_v<L>, "lanes come together by an integer");
  return LaneGroup(__match_any_sync(group.mask(), label));
}
template <class G> inline coalesced_group binary_partition(const G& group, bool label) { return labeled_partition(group, label); }

template <class G> inline void sync(const G& group) { group.sync(); }
template <class G> inline unsigned thread_rank(const G& group) { return unsigned(group.thread_rank()); }

#define MORPH_FUNCTOR(NAME, RESULT) \
  template <class T = void> struct NAME { template <class U> U operator()(const U& a, const U& b) const { return RESULT; } };
MORPH_FUNCTOR(plus, a + b)
MORPH_FUNCTOR(less, b < a ? b : a)
MORPH_FUNCTOR(greater, a < b ? b : a)
MORPH_FUNCTOR(bit_and, a & b)
MORPH_FUNCTOR(bit_or, a | b)
MORPH_FUNCTOR(bit_xor, a ^ b)
#undef MORPH_FUNCTOR

template <class G, class T, class F>
inline T reduce(const G& group, T v, F f) { return morph_cuda::reduced(group.mask(), v, f); }
template <class G, class T, class F>
inline T inclusive_scan(const G& group, T v, F f) {
  morph_cuda::Exchange<T> all(group.mask(), v);
  int own = morph_cuda::lane();
  T result = v;
  bool first = true;
  for (int i = 0; i <= own; i++) {
    if (!all.has(i)) continue;
    result = first ? all.read(i) : f(result, all.read(i));
    first = false;
  }
  return result;
}
template <class G, class T> inline T inclusive_scan(const G& group, T v) { return inclusive_scan(group, v, plus<T>()); }
template <class G, class T> inline T exclusive_scan(const G& group, T v) { return inclusive_scan(group, v) - v; }

}  // namespace cooperative_groups

#endif
