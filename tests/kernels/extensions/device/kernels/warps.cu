// Shuffles, votes and cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

__device__ float warp_sum(float v) {
#pragma unroll
  for (int by = 16; by > 0; by >>= 1) v += __shfl_xor_sync(0xffffffff, v, by);
  return v;
}

__global__ void block_sum(const float* in, float* out, int n) {
  __shared__ float sums[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  float v = warp_sum(i < n ? in[i] : 0.f);
  if (lane == 0) sums[warp] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / warpSize ? sums[lane] : 0.f;
  if (warp == 0) v = warp_sum(v);
  if (threadIdx.x == 0) atomicAdd(out, v);
}

__global__ void shuffles(const int* in, int* out) {
  int v = in[threadIdx.x], n = blockDim.x;
  out[threadIdx.x] = __shfl_sync(0xffffffff, v, 3, 8);
  out[n + threadIdx.x] = __shfl_up_sync(0xffffffff, v, 2);
  out[2 * n + threadIdx.x] = __shfl_down_sync(0xffffffff, v, 1, 16);
  out[3 * n + threadIdx.x] = __shfl_xor_sync(0xffffffff, v, 5);
  out[4 * n + threadIdx.x] = int(__ballot_sync(0xffffffff, v & 1));
  out[5 * n + threadIdx.x] = __any_sync(0xffffffff, v == 40) * 2 + __all_sync(0xffffffff, v < 64);
  out[6 * n + threadIdx.x] = int(__match_any_sync(0xffffffff, v % 4));
  out[7 * n + threadIdx.x] = __reduce_max_sync(0xffffffff, v);
}

// Halves of a warp that go different ways, and meet again.
__global__ void divergent(const int* in, int* out) {
  int v = in[threadIdx.x];
  if (threadIdx.x < 16) {
    v += __shfl_down_sync(0x0000ffff, v, 8);
    v += __shfl_down_sync(0x0000ffff, v, 4);
  } else {
    v = __shfl_sync(0xffff0000, v, 31) - v;
  }
  __syncwarp();
  out[threadIdx.x] = __shfl_xor_sync(0xffffffff, v, 16);
  unsigned here = threadIdx.x % 3 == 0 ? __activemask() : 0;
  if (threadIdx.x % 3 == 0) out[32 + threadIdx.x] = __popc(here);
}

__global__ void tiles(const int* in, int* out) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  int v = in[block.thread_rank()];
  int sum = cg::reduce(tile, v, cg::plus<int>());
  out[block.thread_rank()] = sum + tile.shfl(v, 0);
  block.sync();
  if (v % 2 == 0) {
    cg::coalesced_group even = cg::coalesced_threads();
    if (even.thread_rank() == 0) atomicAdd(out + block.size(), int(even.size()));
  }
}

// A tile knows its place among those of its parent, also where its type does not name the parent.
__global__ void places_of_tiles(int* out) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  auto tile = cg::tiled_partition<8>(warp);
  cg::thread_block_tile<4> any = cg::tiled_partition<4>(tile);
  int i = block.thread_rank(), n = block.size();
  out[i] = int(warp.meta_group_rank() * 10 + warp.meta_group_size());
  out[n + i] = int(tile.meta_group_rank() * 10 + tile.meta_group_size());
  out[2 * n + i] = int(any.meta_group_rank() * 10 + any.meta_group_size());
  out[3 * n + i] = cg::reduce(any, i, cg::plus<int>());
}

// Lanes that have left take no part; those that stay come together by their labels, and once more by a bit of their own.
__global__ void labels(const int* in, int* out) {
  int lane = threadIdx.x;
  if (lane % 5 == 4) return;
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  auto equal = cg::labeled_partition(tile, in[lane]);
  int sum = cg::reduce(equal, lane, cg::plus<int>());
  cg::coalesced_group low = cg::binary_partition(equal, lane % 16 < 8);
  out[lane] = sum;
  out[32 + lane] = int(equal.size() * 100 + equal.thread_rank());
  out[64 + lane] = int(low.size() * 100 + low.thread_rank());
}

extern "C" {
void launch_block_sum(const float* in, float* out, int n) { block_sum<<<(n + 255) / 256, 256>>>(in, out, n); }
void launch_shuffles(const int* in, int* out) { shuffles<<<1, 32>>>(in, out); }
void launch_divergent(const int* in, int* out) { divergent<<<1, 32>>>(in, out); }
void launch_tiles(const int* in, int* out) { tiles<<<1, 64>>>(in, out); }
void launch_places_of_tiles(int* out) { places_of_tiles<<<1, 96>>>(out); }
void launch_labels(const int* in, int* out) { labels<<<1, 32>>>(in, out); }
}
