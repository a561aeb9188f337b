// Copies that end later: of cooperative groups, and in the stages of pipelines.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/pipeline>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;
constexpr int kRow = 64;

__global__ void by_a_group(const int* in, int* out, int n) {
  extern __shared__ int4 memory[];
  int* kept = reinterpret_cast<int*>(memory);
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, kept, in, sizeof(int) * n);
  cg::wait(block);
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = kept[n - 1 - i];
  block.sync();
  auto tile = cg::tiled_partition<16>(block);
  int own = tile.meta_group_rank() * 16;
  cg::memcpy_async(tile, kept + own, in + own, cuda::aligned_size_t<16>(64));
  cg::wait(tile);
  out[n + threadIdx.x] = kept[own + (tile.thread_rank() + 1) % 16];
}

// As the programming guide writes it: the next piece is on its way while one is worked on. The last is not full.
__global__ void in_turns(const int* in, int* out, int n) {
  __shared__ alignas(16) int kept[2][kRow];
  auto block = cg::this_thread_block();
  int stage = 0, sum = 0;
  cg::memcpy_async(block, kept[0], kRow, in, n);
  for (int start = 0; start < n; start += kRow, stage ^= 1) {
    int next = start + kRow;
    if (next < n) {
      cg::memcpy_async(block, kept[stage ^ 1], kRow, in + next, n - next);
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
    for (int i = 0; i < min(kRow, n - start); i++) sum += kept[stage][(i + threadIdx.x) % kRow] * (i + 1);
    block.sync();
  }
  out[threadIdx.x] = sum;
}

// As hadacore does: what other lanes have copied is read right after a thread's own wait.
__global__ void of_other_lanes(const int* in, int* out) {
  __shared__ alignas(16) int kept[32 * 4];
  __pipeline_memcpy_async(&kept[threadIdx.x * 4], &in[threadIdx.x * 4], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  for (int i = 0; i < 4; i++) out[threadIdx.x * 4 + i] = kept[127 - threadIdx.x * 4 - i];
}

// A thread's own pipeline: two stages, then all that is left but one.
__global__ void of_a_thread(const int4* in, int4* out, int rows) {
  __shared__ int4 kept[4][32];
  cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
  auto shape = cuda::aligned_size_t<alignof(int4)>(sizeof(int4));
  int i = threadIdx.x;
  for (int row = 0, next = 0; row < rows; row++) {
    for (; next < rows && next < row + 2; next++) {
      pipe.producer_acquire();
      cuda::memcpy_async(&kept[next % 2][i], &in[next * 32 + i], shape, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    __syncthreads();
    out[row * 32 + i] = kept[row % 2][31 - i];
    __syncthreads();
    pipe.consumer_release();
  }
  for (int row = 0; row < 4; row++) {
    cuda::memcpy_async(cg::this_thread_block(), kept[row], in + row * 32, sizeof kept[row], pipe);
    pipe.producer_commit();
  }
  cuda::pipeline_consumer_wait_prior<1>(pipe);
  __syncthreads();
  for (int row = 0; row < 3; row++) out[(rows + row) * 32 + i] = kept[row][31 - i];
  pipe.consumer_wait();
  __syncthreads();
  out[(rows + 3) * 32 + i] = kept[3][31 - i];
}

template <int STAGES>
__global__ void of_a_block(const int* in, int* out, int rows) {
  __shared__ int kept[STAGES][kRow];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int row = 0, next = 0; row < rows; row++) {
    for (; next < rows && next < row + STAGES; next++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, kept[next % STAGES], in + next * kRow, sizeof(int) * kRow, pipe);
      pipe.producer_commit();
    }
    if (row % 2) pipe.consumer_wait();
    else while (!pipe.consumer_wait_for(std::chrono::milliseconds(1))) {}
    for (int i = 0; i < kRow; i++) sum += kept[row % STAGES][i] * (row + i % 3 + int(threadIdx.x));
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}

// Some threads produce: by role the last warp, by number the first threads. A stage is written anew when it is free.
template <int STAGES>
__device__ void divide(cuda::pipeline<cuda::thread_scope_block>& pipe, const int* in, int* out, int rows, bool produces,
                       int rank, int producers) {
  __shared__ int kept[STAGES][kRow];
  int sum = 0;
  for (int row = 0; row < rows; row++) {
    int* place = kept[row % STAGES];
    if (produces) {
      pipe.producer_acquire();
      for (int i = rank; i < kRow; i += producers)
        cuda::memcpy_async(&place[i], &in[row * kRow + i], sizeof(int), pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      for (int i = 0; i < kRow; i++) sum += place[i] * (row + i % 3 + rank);
      pipe.consumer_release();
    }
  }
  if (!produces) out[rank] = sum;
}
template <int STAGES>
__global__ void by_role(const int* in, int* out, int rows) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  auto block = cg::this_thread_block();
  bool produces = threadIdx.x >= 64;
  auto role = produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline(block, &state, role);
  divide<STAGES>(pipe, in, out, rows, produces, threadIdx.x % 64, 32);
}
template <int STAGES>
__global__ void by_number(const int* in, int* out, int rows, int* last) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  int producers = 8;
  auto pipe = cuda::make_pipeline(cg::this_thread_block(), &state, producers);
  bool produces = int(threadIdx.x) < producers;
  divide<STAGES>(pipe, in, out, rows, produces, produces ? threadIdx.x : threadIdx.x - producers, producers);
  if (pipe.quit()) atomicAdd(last, 1);
}

extern "C" {
void launch_by_a_group(const int* in, int* out, int n) { by_a_group<<<1, 48, 4 * (n + 3)>>>(in, out, n); }
void launch_in_turns(const int* in, int* out, int n) { in_turns<<<1, 32>>>(in, out, n); }
void launch_of_other_lanes(const int* in, int* out) { of_other_lanes<<<1, 32>>>(in, out); }
void launch_of_a_thread(const int4* in, int4* out, int rows) { of_a_thread<<<1, 32>>>(in, out, rows); }
void launch_of_a_block(const int* in, int* out, int rows) { of_a_block<3><<<1, 64>>>(in, out, rows); }
void launch_by_role(const int* in, int* out, int rows) { by_role<2><<<1, 96>>>(in, out, rows); }
void launch_by_number(const int* in, int* out, int rows, int* last) { by_number<3><<<1, 72>>>(in, out, rows, last); }
}
