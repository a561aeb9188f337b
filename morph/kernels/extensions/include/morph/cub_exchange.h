// cub::BlockExchange: the items of a block in another arrangement. Blocked, a thread's items lie side by side; striped,
// those of a block's other threads lie between them; striped by warps, those of its warp's.
#pragma once

#include "morph/cub_block.h"

namespace cub {

template <class T, int X, int ITEMS, bool TIMESLICED = false, int Y = 1, int Z = 1, int ARCH = 0>
class BlockExchange {
  static constexpr int kThreads = X * Y * Z, kLanes = kThreads < 32 ? kThreads : 32;

 public:
  struct alignas(16) TempStorage { SharedValues<T, kThreads * ITEMS> values; };
  BlockExchange() : storage_(own_storage<TempStorage>()) {}
  explicit BlockExchange(TempStorage& storage) : storage_(storage) {}

#define MORPH_EXCHANGE(NAME, FROM, TO)                                                     \
  template <class U>                                                                       \
  void NAME(const T (&in)[ITEMS], U (&out)[ITEMS]) { exchange(in, out, FROM, TO); }        \
  void NAME(T (&items)[ITEMS]) { NAME(items, items); }
  MORPH_EXCHANGE(BlockedToStriped, blocked, striped)
  MORPH_EXCHANGE(StripedToBlocked, striped, blocked)
  MORPH_EXCHANGE(BlockedToWarpStriped, blocked, striped_by_warps)
  MORPH_EXCHANGE(WarpStripedToBlocked, striped_by_warps, blocked)
#undef MORPH_EXCHANGE

  // To the place that each item has a rank of; one whose rank is negative, or that is not valid, goes nowhere.
  template <class U, class R>
  void ScatterToBlocked(const T (&in)[ITEMS], U (&out)[ITEMS], R (&ranks)[ITEMS]) {
    exchange(in, out, [&](int i) { return int(ranks[i]); }, blocked);
  }
  template <class R>
  void ScatterToBlocked(T (&items)[ITEMS], R (&ranks)[ITEMS]) { ScatterToBlocked(items, items, ranks); }
  template <class U, class R>
  void ScatterToStriped(const T (&in)[ITEMS], U (&out)[ITEMS], R (&ranks)[ITEMS]) {
    exchange(in, out, [&](int i) { return int(ranks[i]); }, striped);
  }
  template <class R>
  void ScatterToStriped(T (&items)[ITEMS], R (&ranks)[ITEMS]) { ScatterToStriped(items, items, ranks); }
  template <class U, class R>
  void ScatterToStripedGuarded(const T (&in)[ITEMS], U (&out)[ITEMS], R (&ranks)[ITEMS]) {
    ScatterToStriped(in, out, ranks);
  }
  template <class U, class R, class V>
  void ScatterToStripedFlagged(const T (&in)[ITEMS], U (&out)[ITEMS], R (&ranks)[ITEMS], V (&valid)[ITEMS]) {
    exchange(in, out, [&](int i) { return valid[i] ? int(ranks[i]) : -1; }, striped);
  }

 private:
  static int blocked(int i) { return morph_cuda::thread_rank() * ITEMS + i; }
  static int striped(int i) { return morph_cuda::thread_rank() + i * kThreads; }
  static int striped_by_warps(int i) {
    int rank = morph_cuda::thread_rank();
    return rank / kLanes * kLanes * ITEMS + rank % kLanes + i * kLanes;
  }

  template <class U, class From, class To>
  void exchange(const T (&in)[ITEMS], U (&out)[ITEMS], From from, To to) {
    for (int i = 0; i < ITEMS; i++)
      if (from(i) >= 0) storage_.values[from(i)] = in[i];
    __syncthreads();
    for (int i = 0; i < ITEMS; i++) out[i] = storage_.values[to(i)];
  }

  TempStorage& storage_;
};

}  // namespace cub
