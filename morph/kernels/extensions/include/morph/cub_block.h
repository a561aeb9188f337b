// CUB's collectives of a block and of a warp. Their storage is of whole vectors, since kernels put vectors behind it.
#pragma once

#include "morph/cub_util.h"

namespace cub {

struct Sum { template <class A, class B> auto operator()(const A& a, const B& b) const { return a + b; } };
struct Max { template <class T> T operator()(const T& a, const T& b) const { return a < b ? b : a; } };
struct Min { template <class T> T operator()(const T& a, const T& b) const { return b < a ? b : a; } };
struct Equality { template <class A, class B> bool operator()(const A& a, const B& b) const { return a == b; } };
struct ArgMax { template <class P> P operator()(const P& a, const P& b) const { return b.value > a.value || (b.value == a.value && b.key < a.key) ? b : a; } };
struct ArgMin { template <class P> P operator()(const P& a, const P& b) const { return b.value < a.value || (b.value == a.value && b.key < a.key) ? b : a; } };

enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED,
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED,
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };

// Shared memory for N values of any type.
template <class T, int N>
struct SharedValues {
  alignas(T) unsigned char bytes[sizeof(T) * N];
  T& operator[](int i) { return reinterpret_cast<T*>(bytes)[i]; }
};
template <class Storage>
inline Storage& own_storage() {
  static thread_local Storage storage;
  return storage;
}

template <class T, int X, int ITEMS, BlockLoadAlgorithm A = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int ARCH = 0>
class BlockLoad {
 public:
  struct alignas(16) TempStorage { int unused; };
  BlockLoad() = default;
  explicit BlockLoad(TempStorage&) {}
  template <class P>
  void Load(P from, T (&values)[ITEMS]) { Load(from, values, X * Y * Z * ITEMS); }
  template <class P>
  void Load(P from, T (&values)[ITEMS], int valid) {
    for (int i = 0; i < ITEMS; i++)
      if (place(i) < valid) values[i] = from[place(i)];
    if (A > BLOCK_LOAD_VECTORIZE) __syncthreads();
  }
  template <class P, class D>
  void Load(P from, T (&values)[ITEMS], int valid, D fill) {
    for (T& value : values) value = T(fill);
    Load(from, values, valid);
  }

 private:
  static int place(int i) {
    int rank = morph_cuda::thread_rank();
    return A == BLOCK_LOAD_STRIPED ? rank + i * X * Y * Z : rank * ITEMS + i;
  }
};

template <class T, int X, int ITEMS, BlockStoreAlgorithm A = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int ARCH = 0>
class BlockStore {
 public:
  struct alignas(16) TempStorage { int unused; };
  BlockStore() = default;
  explicit BlockStore(TempStorage&) {}
  template <class P>
  void Store(P to, T (&values)[ITEMS]) { Store(to, values, X * Y * Z * ITEMS); }
  template <class P>
  void Store(P to, T (&values)[ITEMS], int valid) {
    if (A > BLOCK_STORE_VECTORIZE) __syncthreads();
    int rank = morph_cuda::thread_rank();
    for (int i = 0; i < ITEMS; i++) {
      int place = A == BLOCK_STORE_STRIPED ? rank + i * X * Y * Z : rank * ITEMS + i;
      if (place < valid) to[place] = values[i];
    }
  }
};

template <class T, int X, BlockReduceAlgorithm A = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int ARCH = 0>
class BlockReduce {
 public:
  struct alignas(16) TempStorage { SharedValues<T, X * Y * Z> values; };
  BlockReduce() : storage_(own_storage<TempStorage>()) {}
  explicit BlockReduce(TempStorage& storage) : storage_(storage) {}
  template <class F>
  T Reduce(T own, F f, int valid = X * Y * Z) {
    int rank = morph_cuda::thread_rank();
    storage_.values[rank] = own;
    __syncthreads();
    T result = own;
    if (rank == 0)
      for (int i = 1; i < valid && i < X * Y * Z; i++) result = f(result, storage_.values[i]);
    return result;
  }
  template <int ITEMS, class F>
  T Reduce(T (&items)[ITEMS], F f) {
    T own = items[0];
    for (int i = 1; i < ITEMS; i++) own = f(own, items[i]);
    return Reduce(own, f);
  }
  T Sum(T own) { return Reduce(own, cub::Sum()); }
  T Sum(T own, int valid) { return Reduce(own, cub::Sum(), valid); }
  template <int ITEMS> T Sum(T (&items)[ITEMS]) { return Reduce(items, cub::Sum()); }

 private:
  TempStorage& storage_;
};

template <class T, int LANES = 32, int ARCH = 0>
class WarpReduce {
 public:
  struct alignas(16) TempStorage { int unused; };
  explicit WarpReduce(TempStorage&) {}
  template <class F> T Reduce(T own, F f) { return Reduce(own, f, LANES); }
  template <class F>
  T Reduce(T own, F f, int valid) {
    morph_cuda::Exchange<T> all(tile(), own);
    int first = morph_cuda::lane() / LANES * LANES;
    T result = all.read(first);
    for (int i = 1; i < valid; i++)
      if (all.has(first + i)) result = f(result, all.read(first + i));
    return morph_cuda::lane() == first ? result : own;
  }
  T Sum(T own) { return Reduce(own, cub::Sum()); }
  T Sum(T own, int valid) { return Reduce(own, cub::Sum(), valid); }

 private:
  static unsigned tile() {
    return LANES == 32 ? morph_cuda::kAll : ((1u << (LANES & 31)) - 1) << (morph_cuda::lane() / LANES * LANES);
  }
};

template <class T, int LANES = 32, int ARCH = 0>
class WarpScan {
 public:
  struct alignas(16) TempStorage { int unused; };
  explicit WarpScan(TempStorage&) {}
  template <class F>
  void InclusiveScan(T own, T& out, F f) {
    morph_cuda::Exchange<T> all(morph_cuda::kAll, own);
    int lane = morph_cuda::lane(), first = lane / LANES * LANES;
    T result = all.read(first);
    for (int i = first + 1; i <= lane; i++) result = f(result, all.read(i));
    out = result;
  }
  void InclusiveSum(T own, T& out) { InclusiveScan(own, out, cub::Sum()); }
  void ExclusiveSum(T own, T& out) {
    T sum;
    InclusiveSum(own, sum);
    out = sum - own;
  }
};

}  // namespace cub
