// A subset of CUB.
#include <cub/cub.cuh>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda_runtime.h>

template <int THREADS, int ITEMS>
__global__ void scan(const int* in, int* out, int* total) {
  using Load = cub::BlockLoad<int, THREADS, ITEMS, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<int, THREADS, ITEMS, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  using Scan = cub::BlockScan<int, THREADS>;
  using Reduce = cub::BlockReduce<int, THREADS>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Scan::TempStorage scan;
    typename Reduce::TempStorage reduce;
  } storage;
  int items[ITEMS], first;
  Load(storage.load).Load(in, items);
  __syncthreads();
  first = items[0];
  Scan(storage.scan).InclusiveSum(items, items);
  __syncthreads();
  Store(storage.store).Store(out, items);
  __syncthreads();
  int sum = Reduce(storage.reduce).Sum(first);
  if (threadIdx.x == 0) *total = sum;
}

__global__ void warps(const float* in, float* out) {
  using Reduce = cub::WarpReduce<float>;
  __shared__ typename Reduce::TempStorage storage[2];
  int warp = threadIdx.x / 32;
  float most = Reduce(storage[warp]).Reduce(in[threadIdx.x], cub::Max());
  if (threadIdx.x % 32 == 0) out[warp] = most;
}

// More values are said to be valid than there are threads, as bitsandbytes counts elements: what lies behind is none.
__global__ void most(const int* in, int* out) {
  using Reduce = cub::BlockReduce<int, 32>;
  __shared__ struct {
    typename Reduce::TempStorage reduce;
    int behind[32];
  } storage;
  storage.behind[threadIdx.x] = 1 << 30;
  __syncthreads();
  int whole = Reduce(storage.reduce).Reduce(in[threadIdx.x], cuda::maximum<>{}, 64);
  if (threadIdx.x == 0) out[0] = whole;
  __syncthreads();
  whole = Reduce(storage.reduce).Reduce(in[threadIdx.x], cuda::std::plus<>{});
  if (threadIdx.x == 0) out[1] = whole, out[2] = cuda::std::numeric_limits<int>::max();
}

template <int THREADS, int ITEMS>
__global__ void sorts(const float* in, float* out, int* places) {
  using Pairs = cub::BlockRadixSort<float, THREADS, ITEMS, int>;
  using Keys = cub::BlockRadixSort<unsigned, THREADS, ITEMS>;
  __shared__ union {
    typename Pairs::TempStorage pairs;
    typename Keys::TempStorage keys;
  } storage;
  float keys[ITEMS], striped[ITEMS];
  int values[ITEMS], others[ITEMS];
  unsigned digits[ITEMS];
  for (int i = 0; i < ITEMS; i++) {
    values[i] = others[i] = threadIdx.x * ITEMS + i;
    keys[i] = striped[i] = in[values[i]];
    digits[i] = unsigned(values[i] * 37);
  }
  Pairs(storage.pairs).Sort(keys, values);
  __syncthreads();
  Pairs(storage.pairs).SortDescendingBlockedToStriped(striped, others);
  __syncthreads();
  Keys(storage.keys).SortDescending(digits, 2, 5);
  for (int i = 0; i < ITEMS; i++) {
    int place = threadIdx.x * ITEMS + i, stripe = threadIdx.x + i * THREADS;
    out[place] = keys[i], places[place] = values[i];
    out[THREADS * ITEMS + stripe] = striped[i], places[THREADS * ITEMS + stripe] = others[i];
    places[2 * THREADS * ITEMS + place] = int(digits[i]);
  }
}

static_assert(sizeof(cub::BlockRadixSort<unsigned, 64, 2>::TempStorage) <= 64 * 2 * sizeof(unsigned) + 16);
static_assert(sizeof(cub::BlockLoad<float, 128, 4>::TempStorage) % sizeof(float4) == 0);
static_assert(sizeof(cub::BlockReduce<char, 33>::TempStorage) % sizeof(float4) == 0);

extern "C" {
void launch_scan(const int* in, int* out, int* total) { scan<32, 4><<<1, 32>>>(in, out, total); }
void launch_warps(const float* in, float* out) { warps<<<1, 64>>>(in, out); }
void launch_sorts(const float* in, float* out, int* places) { sorts<64, 3><<<1, 64>>>(in, out, places); }
void launch_most(const int* in, int* out) { most<<<1, 32>>>(in, out); }
void device_sort(const float* keys, float* sorted, const int* values, int* sorted_values, int n) {
  void* storage = nullptr;
  size_t bytes = 0;
  cub::DeviceRadixSort::SortPairs(storage, bytes, keys, sorted, values, sorted_values, n);
  cudaMalloc(&storage, bytes);
  cub::DeviceRadixSort::SortPairs(storage, bytes, keys, sorted, values, sorted_values, n);
  cudaFree(storage);
}
void segmented_sorts(int64_t* keys, int64_t* sorted, int* values, int* sorted_values, const int64_t* starts, int segments, int n) {
  using Sort = cub::DeviceSegmentedRadixSort;
  void* storage = nullptr;
  size_t bytes = 0;
  const int64_t* ends = starts + 1;
  cub::DoubleBuffer<int64_t> both(keys, sorted);
  cub::DoubleBuffer<int> both_values(values, sorted_values);
  for (int turn = 0; turn < 2; turn++) {
    Sort::SortPairsDescending(storage, bytes, keys, sorted + n, values, sorted_values + n, n, segments, starts, ends, 0, 16);
    Sort::SortKeys(storage, bytes, keys, sorted + 2 * n, n, segments, starts, ends);
    Sort::SortKeysDescending(storage, bytes, keys, sorted + 3 * n, n, segments, starts, ends);
    Sort::SortPairs(storage, bytes, both, both_values, n, segments, starts, ends, 0, 16, cudaStream_t(0));
    if (!storage) cudaMalloc(&storage, bytes);
  }
  cudaMemcpy(sorted + 4 * n, both.Current(), n * sizeof(int64_t), cudaMemcpyDefault);
  cudaFree(storage);
}
void device_scans_by_key(const int* keys, const int* in, int* out, int n) {
  void* storage = nullptr;
  size_t bytes = 0;
  auto most = [] __host__ __device__(int a, int b) { return a < b ? b : a; };
  auto near = [] __host__ __device__(int a, int b) { return a / 2 == b / 2; };
  for (int turn = 0; turn < 2; turn++) {
    cub::DeviceScan::InclusiveSumByKey(storage, bytes, keys, in, out, n);
    cub::DeviceScan::ExclusiveSumByKey(storage, bytes, keys, in, out + n, n, near);
    cub::DeviceScan::InclusiveScanByKey(storage, bytes, keys, in, out + 2 * n, most, n);
    cub::DeviceScan::ExclusiveScanByKey(storage, bytes, keys, in, out + 3 * n, most, 5, n, cub::Equality(), cudaStream_t(0));
    if (!storage) cudaMalloc(&storage, bytes);
  }
  cudaMemcpy(out + 4 * n, keys, n * sizeof(int), cudaMemcpyDefault);
  cub::DeviceScan::InclusiveSumByKey(storage, bytes, out + 4 * n, in, out + 4 * n, n);
  cudaFree(storage);
}
void device_sum(const float* in, float* out, int n) {
  void* storage = nullptr;
  size_t bytes = 0;
  cub::DeviceReduce::Sum(storage, bytes, in, out, n);
  cudaMalloc(&storage, bytes);
  cub::DeviceReduce::Sum(storage, bytes, in, out, n);
  cudaFree(storage);
}
}
