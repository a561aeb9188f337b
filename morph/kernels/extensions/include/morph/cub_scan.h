// cub::BlockScan, of one item of each thread or of several.
#pragma once

#include <type_traits>
#include <utility>

#include "morph/cub_block.h"

namespace cub {

template <class T, int X, BlockScanAlgorithm A = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int ARCH = 0>
class BlockScan {
  template <class F> static constexpr bool is_operator = std::is_invocable_v<F&, T, T>;
  template <class P> static constexpr bool is_prefix = std::is_invocable_v<P&, T>;

 public:
  struct alignas(16) TempStorage { SharedValues<T, X * Y * Z + 1> values; };
  BlockScan() : storage_(own_storage<TempStorage>()) {}
  explicit BlockScan(TempStorage& storage) : storage_(storage) {}

  // After the items: an operator; an operator and the total or what makes the prefix of it; the first value and an
  // operator; or the first value, an operator, and the total, which is without the first value.
  template <int ITEMS, class... How>
  void InclusiveScan(const T (&in)[ITEMS], T (&out)[ITEMS], How&&... how) { scan<true>(in, out, how...); }
  template <int ITEMS, class... How>
  void ExclusiveScan(const T (&in)[ITEMS], T (&out)[ITEMS], How&&... how) { scan<false>(in, out, how...); }
  template <int ITEMS, class... How>
  void InclusiveSum(const T (&in)[ITEMS], T (&out)[ITEMS], How&&... how) { scan<true>(in, out, Sum(), how...); }
  template <int ITEMS>
  void ExclusiveSum(const T (&in)[ITEMS], T (&out)[ITEMS]) { scan<false>(in, out, T(), Sum()); }
  template <int ITEMS, class Last>
  void ExclusiveSum(const T (&in)[ITEMS], T (&out)[ITEMS], Last& last) {
    if constexpr (is_prefix<Last>) scan<false>(in, out, Sum(), last);
    else scan<false>(in, out, T(), Sum(), last);
  }

#define MORPH_OF_ONE_ITEM(NAME)                        \
  template <class... How>                              \
  void NAME(T in, T& out, How&&... how) {              \
    T items[1] = {in}, scanned[1] = {in};              \
    NAME(items, scanned, std::forward<How>(how)...);   \
    out = scanned[0];                                  \
  }
  MORPH_OF_ONE_ITEM(InclusiveScan)
  MORPH_OF_ONE_ITEM(ExclusiveScan)
  MORPH_OF_ONE_ITEM(InclusiveSum)
  MORPH_OF_ONE_ITEM(ExclusiveSum)
#undef MORPH_OF_ONE_ITEM

 private:
  template <int ITEMS>
  struct Items {
    T all[ITEMS];
    template <class F>
    T total(F f) const {
      T result = all[0];
      for (int i = 1; i < ITEMS; i++) result = f(result, all[i]);
      return result;
    }
  };

  template <bool INCLUSIVE, int ITEMS, class F>
  void scan(const T (&in)[ITEMS], T (&out)[ITEMS], F& f) {
    Items<ITEMS> items = kept(in);
    T total, before = gather(items.total(f), f, total);
    spread<INCLUSIVE>(items, out, f, nullptr, before);
  }
  template <bool INCLUSIVE, int ITEMS, class F>
  void scan(const T (&in)[ITEMS], T (&out)[ITEMS], F&& f) { scan<INCLUSIVE>(in, out, f); }
  template <bool INCLUSIVE, int ITEMS, class First, class Second>
  void scan(const T (&in)[ITEMS], T (&out)[ITEMS], First&& first, Second&& second) {
    T total;
    if constexpr (!is_operator<First>) {
      scan<INCLUSIVE>(in, out, first, second, total);
    } else {
      Items<ITEMS> items = kept(in);
      T before = gather(items.total(first), first, total);
      if constexpr (is_prefix<Second>) {
        T prefix = shared_prefix(second, total);
        spread<INCLUSIVE>(items, out, first, &prefix, before);
      } else {
        second = total;
        spread<INCLUSIVE>(items, out, first, nullptr, before);
      }
    }
  }
  template <bool INCLUSIVE, int ITEMS, class First, class F>
  void scan(const T (&in)[ITEMS], T (&out)[ITEMS], const First& first, F&& f, T& total) {
    Items<ITEMS> items = kept(in);
    T before = gather(items.total(f), f, total), value = T(first);
    spread<INCLUSIVE>(items, out, f, &value, before);
  }

  template <int ITEMS>
  static Items<ITEMS> kept(const T (&in)[ITEMS]) {  // `out` may be `in`
    Items<ITEMS> items;
    for (int i = 0; i < ITEMS; i++) items.all[i] = in[i];
    return items;
  }
  template <bool INCLUSIVE, int ITEMS, class F>
  void spread(const Items<ITEMS>& items, T (&out)[ITEMS], F& f, const T* first, const T& before) {
    T running = !first ? before : rank() ? T(f(*first, before)) : *first;
    bool is_alone = !first && !rank();
    for (int i = 0; i < ITEMS; i++) {
      T next = is_alone && i == 0 ? items.all[0] : T(f(running, items.all[i]));
      out[i] = INCLUSIVE ? next : running;
      running = next;
    }
  }

  static int rank() { return morph_cuda::thread_rank(); }
  // The scan of the values of lower ranks, where there are some, and of all.
  template <class F>
  T gather(T own, F& f, T& total) {
    storage_.values[rank()] = own;
    __syncthreads();
    T before = storage_.values[0];
    for (int i = 1; i < rank(); i++) before = f(before, storage_.values[i]);
    T all = rank() ? T(f(before, own)) : own;  // `total` may be one place for all threads
    for (int i = rank() + 1; i < X * Y * Z; i++) all = f(all, storage_.values[i]);
    total = all;
    __syncthreads();
    return before;
  }
  // The first warp computes it from the block's total.
  template <class P>
  T shared_prefix(P& prefix, T total) {
    if (rank() < 32) {
      T before = prefix(total);
      if (rank() == 0) storage_.values[X * Y * Z] = before;
    }
    __syncthreads();
    T before = storage_.values[X * Y * Z];
    __syncthreads();
    return before;
  }

  TempStorage& storage_;
};

}  // namespace cub
