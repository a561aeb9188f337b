// CUB's scans of several items of each thread, its parts that programs build scans of their own with, and counts.
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_raking_layout.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/config.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/util_ptx.cuh>
#include <cub/util_type.cuh>
#include <cuda/cmath>
#include <cuda_runtime.h>

// x -> a x + b; of two of them the left one is applied first.
struct Line {
  int a, b;
};
struct Then {
  __host__ __device__ Line operator()(const Line& f, const Line& g) const { return {f.a * g.a, f.b * g.a + g.b}; }
};
struct Prefix {
  Line* total;
  __device__ Line operator()(const Line& all) {
    if (threadIdx.x == 0) *total = all;
    return {1, 5};
  }
};

template <int THREADS, int ITEMS, class Scan>
__device__ void scanned(const Line* in, Line* out, Scan scan) {
  Line items[ITEMS];
  for (int i = 0; i < ITEMS; i++) items[i] = in[threadIdx.x * ITEMS + i];
  scan(items);
  for (int i = 0; i < ITEMS; i++) out[threadIdx.x * ITEMS + i] = items[i];
  __syncthreads();
}
template <int THREADS, int ITEMS>
__global__ void scans(const Line* in, Line* out, Line* totals) {
  using Scan = cub::BlockScan<Line, THREADS, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage;
  Line total, first{1, 5};
  Prefix prefix{totals + 3};
  auto run = [&](auto scan) { scanned<THREADS, ITEMS>(in, out, scan), out += THREADS * ITEMS; };
  run([&](auto& items) { Scan(storage).InclusiveScan(items, items, Then(), total); });
  totals[0] = total;
  run([&](auto& items) { Scan(storage).InclusiveScan(items, items, first, Then(), total); });
  totals[1] = total;
  run([&](auto& items) { Scan(storage).ExclusiveScan(items, items, first, Then(), total); });
  totals[2] = total;
  run([&](auto& items) { Scan(storage).InclusiveScan(items, items, Then(), prefix); });
  run([&](auto& items) { Scan(storage).ExclusiveScan(items, items, Then(), prefix); });
  run([&](auto& items) { Scan(storage).ExclusiveScan(items, items, first, Then()); });
}

template <int THREADS, int ITEMS>
__global__ void sums(const float* in, float* out, float* totals) {
  using Scan = cub::BlockScan<float, THREADS>;
  __shared__ typename Scan::TempStorage storage;
  float items[ITEMS], sums[ITEMS];
  for (int i = 0; i < ITEMS; i++) items[i] = in[threadIdx.x * ITEMS + i];
  Scan(storage).ExclusiveSum(items, sums, totals[0]);
  for (int i = 0; i < ITEMS; i++) out[threadIdx.x * ITEMS + i] = sums[i];
  __syncthreads();
  Scan(storage).InclusiveSum(items, sums, totals[1]);
  float own = items[0];
  __syncthreads();
  Scan(storage).ExclusiveScan(own, own, 2, cub::Max(), totals[2]);
  for (int i = 0; i < ITEMS; i++) out[THREADS * ITEMS + threadIdx.x * ITEMS + i] = i ? sums[i] : own;
}

// From the last thread to the first, as mamba's scans go: a warp goes over segments.
struct alignas(8) Wide {
  double value, more[2];
};
template <int THREADS>
__global__ void reversed(const double* in, double* out) {
  using Layout = cub::BlockRakingLayout<Wide, THREADS>;
  static_assert(Layout::UNGUARDED && Layout::SEGMENT_LENGTH == THREADS / 32);
  struct _TempStorage { typename Layout::TempStorage grid; };
  struct TempStorage : cub::Uninitialized<_TempStorage> {};
  __shared__ TempStorage storage;
  unsigned rank = cub::RowMajorTid(THREADS, 1, 1);
  Wide* own = Layout::PlacementPtr(storage.Alias().grid, rank);
  *own = Wide{in[rank], {1, 2}};
  __syncthreads();
  if (rank < Layout::RAKING_THREADS) {
    Wide* segment = Layout::RakingPtr(storage.Alias().grid, rank);
    Wide sum{0, {3, 4}};
    for (int i = Layout::SEGMENT_LENGTH - 1; i >= 0; i--) sum.value = segment[i].value += sum.value;
    unsigned mask = cub::WarpMask<32>(0);
    for (int step = 0; step < cub::Log2<CUB_WARP_THREADS(0)>::VALUE; step++) {
      Wide other = cub::ShuffleDown<32>(sum, 1 << step, 31, mask);
      if (cub::LaneId() + (1u << step) < 32 && other.more[1] == 4) sum.value += other.value;
    }
    Wide after = cub::ShuffleDown<32>(sum, 1, 31, mask);
    if (cub::LaneId() < 31)
      for (int i = 0; i < Layout::SEGMENT_LENGTH; i++) segment[i].value += after.value;
  }
  __syncthreads();
  out[rank] = own->value;
}

__global__ void shuffled(int* out) {
  int i = threadIdx.x;
  unsigned mask = cub::WarpMask<8>(i / 8);
  out[i] = cub::ShuffleUp<8>(i, 3, 1, mask);
  out[32 + i] = cub::ShuffleDown<8>(i, 2, 6, mask);
  out[64 + i] = cub::ShuffleIndex<8>(i, 5, mask);
}

template <int THREADS, int ITEMS>
__global__ void exchanged(int* out) {
  using Exchange = cub::BlockExchange<int, THREADS, ITEMS>;
  __shared__ typename Exchange::TempStorage storage;
  int items[ITEMS], ranks[ITEMS];
  auto begin = [&] {
    __syncthreads();
    for (int i = 0; i < ITEMS; i++) items[i] = threadIdx.x * ITEMS + i, ranks[i] = THREADS * ITEMS - 1 - items[i];
  };
  auto end = [&] {
    for (int i = 0; i < ITEMS; i++) out[threadIdx.x * ITEMS + i] = items[i];
    out += THREADS * ITEMS;
  };
  begin(), Exchange(storage).BlockedToStriped(items, items), end();
  begin(), Exchange(storage).StripedToBlocked(items), end();
  begin(), Exchange(storage).BlockedToWarpStriped(items), end();
  begin(), Exchange(storage).WarpStripedToBlocked(items, items), end();
  begin(), Exchange(storage).ScatterToBlocked(items, ranks), end();
  begin(), Exchange(storage).ScatterToStriped(items, items, ranks), end();
}

template <cub::BlockHistogramAlgorithm HOW>
__global__ void counted(const unsigned char* in, unsigned* out) {
  using Histogram = cub::BlockHistogram<unsigned char, 32, 4, 16, HOW>;
  __shared__ typename Histogram::TempStorage storage;
  __shared__ unsigned bins[16];
  unsigned char items[4];
  for (int i = 0; i < 4; i++) items[i] = in[threadIdx.x * 4 + i];
  Histogram(storage).Histogram(items, bins);
  __syncthreads();
  Histogram(storage).Composite(items, bins);
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}

static_assert(cub::Log2<1>::VALUE == 0 && cub::Log2<32>::VALUE == 5 && cub::Log2<33>::VALUE == 6);
static_assert(cub::PowerOfTwo<8>::VALUE && !cub::PowerOfTwo<6>::VALUE);
static_assert(cuda::ceil_div(7, 2) == 4 && cuda::ceil_div(8u, 2) == 4 && cuda::round_up(9, 4) == 12);
static_assert(cuda::round_down(9, 4) == 8 && cuda::ilog2(9) == 3 && cuda::ilog10(1000) == 3 && cuda::uabs(-5) == 5u);
static_assert(cuda::next_power_of_two(9u) == 16 && cuda::prev_power_of_two(9u) == 8 && cuda::is_power_of_two(4));
static_assert(cuda::next_power_of_two(8) == 8 && cuda::prev_power_of_two(8) == 8 && !cuda::is_power_of_two(0));
static_assert(17 / cuda::fast_mod_div<int>(5) == 3 && 17 % cuda::fast_mod_div<int>(5) == 2);

using Float = cub::Traits<float>;
static_assert(Float::TwiddleIn(0x80000001u) < Float::TwiddleIn(0x80000000u) && Float::TwiddleIn(0u) == 0x80000000u);
static_assert(Float::TwiddleOut(Float::TwiddleIn(0xc0490fdbu)) == 0xc0490fdbu && Float::CATEGORY == cub::FLOATING_POINT);
static_assert(cub::Traits<short>::TwiddleIn(0xffff) == 0x7fff && cub::Traits<unsigned>::TwiddleOut(5u) == 5u);

extern "C" {
void launch_scans(const int* in, int* out, int* totals) {
  scans<64, 3><<<1, 64>>>((const Line*)in, (Line*)out, (Line*)totals);
}
void launch_sums(const float* in, float* out, float* totals) { sums<32, 4><<<1, 32>>>(in, out, totals); }
void launch_reversed(const double* in, double* out) { reversed<128><<<1, 128>>>(in, out); }
void launch_shuffled(int* out) { shuffled<<<1, 32>>>(out); }
void launch_exchanged(int* out) { exchanged<64, 3><<<1, 64>>>(out); }
void launch_counted(const unsigned char* in, unsigned* out) {
  counted<cub::BLOCK_HISTO_SORT><<<1, 32>>>(in, out);
  counted<cub::BLOCK_HISTO_ATOMIC><<<1, 32>>>(in, out + 16);
}
void launch_runs(const int* in, int* unique, int* counts, int* found, int n) {
  using Runs = cub::DeviceRunLengthEncode;
  static cub::CachingDeviceAllocator allocator(true);
  void* storage = nullptr;
  size_t bytes = 0;
  for (int turn = 0; turn < 2; turn++) {
    Runs::Encode(storage, bytes, in, unique, counts, found, n);
    Runs::NonTrivialRuns(storage, bytes, in, unique + n, counts + n, found + 1, n, cudaStream_t(0));
    if (!storage) CubDebugExit(allocator.DeviceAllocate(&storage, bytes));
  }
  CubDebugExit(allocator.DeviceFree(storage));
}
}
