// Accesses of several threads that nothing orders. a and b have 256 numbers each, all of a are 0.
#include "calls.h"

#include <cooperative_groups.h>
#include <cuda/pipeline>

#define REVERSED(BARRIER)           \
  __shared__ float tile[64];        \
  int i = threadIdx.x;              \
  tile[i] = b[i];                   \
  BARRIER;                          \
  a[i] = tile[63 - i];
WRONG(no_barrier, 1, 64, 0, { REVERSED(;) })
RIGHT(no_barrier, 1, 64, 0, { REVERSED(__syncthreads()) })
WRONG(barrier_of_a_warp_only, 1, 64, 0, { REVERSED(__syncwarp()) })
RIGHT(barrier_of_a_warp_only, 1, 64, 0, { REVERSED(cooperative_groups::this_thread_block().sync()) })

#define LANES_REVERSED(BARRIER)     \
  __shared__ float tile[32];        \
  tile[threadIdx.x] = b[threadIdx.x]; \
  BARRIER;                          \
  a[threadIdx.x] = tile[31 - threadIdx.x];
WRONG(lanes_in_step, 1, 32, 0, { LANES_REVERSED(;) })
RIGHT(lanes_in_step, 1, 32, 0, { LANES_REVERSED(__syncwarp()) })

#define ROUNDS(BARRIER)                \
  __shared__ float tile[64];           \
  int i = threadIdx.x;                 \
  for (int round = 0; round < 3; round++) { \
    tile[i] = b[i] + round;            \
    __syncthreads();                   \
    a[i] += tile[63 - i];              \
    BARRIER;                           \
  }
WRONG(no_barrier_before_the_next_round, 1, 64, 0, { ROUNDS(;) })
RIGHT(no_barrier_before_the_next_round, 1, 64, 0, { ROUNDS(__syncthreads()) })
RIGHT(two_buffers, 1, 64, 0, {
  __shared__ float tile[2][64];
  int i = threadIdx.x;
  for (int round = 0; round < 4; round++) {
    tile[round % 2][i] = b[i] + round;
    __syncthreads();
    a[i] += tile[round % 2][63 - i];
  }
})

#define TREE(BARRIER)                               \
  __shared__ float sums[128];                       \
  int i = threadIdx.x;                              \
  sums[i] = b[i];                                   \
  __syncthreads();                                  \
  for (int half = 64; half; half /= 2) {            \
    if (i < half) sums[i] += sums[i + half];        \
    BARRIER;                                        \
  }                                                 \
  if (!i) a[0] = sums[0];
WRONG(sum_by_halves, 1, 128, 0, { TREE(;) })
RIGHT(sum_by_halves, 1, 128, 0, { TREE(__syncthreads()) })

#define LAST_WARP(BARRIER)                          \
  __shared__ float sums[64];                        \
  int i = threadIdx.x;                              \
  sums[i] = b[i];                                   \
  __syncthreads();                                  \
  if (i >= 32) return;                              \
  for (int half = 32; half; half /= 2) {            \
    float other = sums[i + half];                   \
    BARRIER;                                        \
    sums[i] += other;                               \
    BARRIER;                                        \
  }                                                 \
  if (!i) a[0] = sums[0];
WRONG(sum_of_the_last_warp, 1, 64, 0, { LAST_WARP(;) })
RIGHT(sum_of_the_last_warp, 1, 64, 0, { LAST_WARP(__syncwarp()) })

#define SCAN(BARRIER)                               \
  __shared__ float sums[64];                        \
  int i = threadIdx.x;                              \
  sums[i] = b[i];                                   \
  __syncthreads();                                  \
  for (int step = 1; step < 64; step *= 2) {        \
    float other = i >= step ? sums[i - step] : 0;   \
    BARRIER;                                        \
    sums[i] += other;                               \
    __syncthreads();                                \
  }                                                 \
  a[i] = sums[i];
WRONG(scan_in_place, 1, 64, 0, { SCAN(;) })
RIGHT(scan_in_place, 1, 64, 0, { SCAN(__syncthreads()) })

#define TRANSPOSED(BARRIER)                                  \
  __shared__ float tile[16][17];                             \
  tile[threadIdx.y][threadIdx.x] = b[threadIdx.y * 16 + threadIdx.x]; \
  BARRIER;                                                   \
  a[threadIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
WRONG(transpose, 1, dim3(16, 16), 0, { TRANSPOSED(;) })
RIGHT(transpose, 1, dim3(16, 16), 0, { TRANSPOSED(__syncthreads()) })

#define COUNTED(AFTER_ZERO, BEFORE_READ)            \
  __shared__ int count;                             \
  if (!threadIdx.x) count = 0;                      \
  AFTER_ZERO;                                       \
  if (b[threadIdx.x] > 0) atomicAdd(&count, 1);     \
  BEFORE_READ;                                      \
  a[threadIdx.x] = count;
WRONG(count_before_it_is_zero, 1, 64, 0, { COUNTED(;, __syncthreads()) })
WRONG(count_read_too_early, 1, 64, 0, { COUNTED(__syncthreads(), ;) })
RIGHT(count_read_too_early, 1, 64, 0, { COUNTED(__syncthreads(), __syncthreads()) })

#define DYNAMIC(BARRIER)                 \
  extern __shared__ float tile[];        \
  tile[threadIdx.x] = b[threadIdx.x];    \
  BARRIER;                               \
  a[threadIdx.x] = tile[63 - threadIdx.x];
WRONG(dynamic_shared_memory, 1, 64, 256, { DYNAMIC(;) })
RIGHT(dynamic_shared_memory, 1, 64, 256, { DYNAMIC(__syncthreads()) })

#define BINNED(COUNT)                                    \
  __shared__ int bins[4];                                \
  if (threadIdx.x < 4) bins[threadIdx.x] = 0;            \
  __syncthreads();                                       \
  COUNT;                                                 \
  __syncthreads();                                       \
  if (threadIdx.x < 4) a[threadIdx.x] = bins[threadIdx.x];
WRONG(histogram, 1, 64, 0, { BINNED(bins[threadIdx.x % 4]++) })
RIGHT(histogram, 1, 64, 0, { BINNED(atomicAdd(bins + threadIdx.x % 4, 1)) })

#define COPIED(BARRIER)                                                      \
  __shared__ float tile[128];                                                \
  __pipeline_memcpy_async(tile + threadIdx.x * 4, b + threadIdx.x * 4, 16);  \
  __pipeline_commit();                                                       \
  __pipeline_wait_prior(0);                                                  \
  BARRIER;                                                                   \
  a[threadIdx.x] = tile[127 - threadIdx.x];
WRONG(asynchronous_copy, 1, 32, 0, { COPIED(;) })
RIGHT(asynchronous_copy, 1, 32, 0, { COPIED(__syncthreads()) })

WRONG(sum_without_atomics, 4, 32, 0, { a[0] += b[blockIdx.x * 32 + threadIdx.x]; })
RIGHT(sum_without_atomics, 4, 32, 0, { atomicAdd(a, b[blockIdx.x * 32 + threadIdx.x]); })

WRONG(stencil_in_place, 4, 64, 0, {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i) a[i] = a[i - 1] + 1;
})
RIGHT(stencil_in_place, 4, 64, 0, {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i) a[i] = b[i - 1] + 1;
})

WRONG(one_place_for_all, 2, 32, 0, { a[0] = blockIdx.x * 32 + threadIdx.x; })
RIGHT(one_place_for_all, 2, 32, 0, { a[0] = 1; })  // of the same value it does not matter which is the last

RIGHT(bytes_of_a_word, 1, 64, 0, { reinterpret_cast<unsigned char*>(a)[threadIdx.x] = threadIdx.x; })

// The last block adds up what the others wrote, as in NVIDIA's sample threadFenceReduction.
#define LAST_BLOCK(FENCE)                                                          \
  __shared__ bool is_last;                                                         \
  unsigned* done = reinterpret_cast<unsigned*>(a + 200);                           \
  if (!threadIdx.x) {                                                              \
    a[blockIdx.x] = b[blockIdx.x];                                                 \
    FENCE;                                                                         \
    is_last = atomicInc(done, gridDim.x) == gridDim.x - 1;                         \
  }                                                                                \
  __syncthreads();                                                                 \
  if (!is_last || threadIdx.x) return;                                             \
  for (int i = 0; i < gridDim.x; i++) a[100] += a[i];
WRONG(last_block, 8, 32, 0, { LAST_BLOCK(;) })
RIGHT(last_block, 8, 32, 0, { LAST_BLOCK(__threadfence()) })

#define LOCKED(FENCE)                                    \
  if (threadIdx.x) return;                               \
  int* lock = reinterpret_cast<int*>(a + 200);           \
  while (atomicCAS(lock, 0, 1)) {}                       \
  FENCE;                                                 \
  a[0] += b[blockIdx.x];                                 \
  FENCE;                                                 \
  atomicExch(lock, 0);
WRONG(lock, 4, 32, 0, { LOCKED(;) })
RIGHT(lock, 4, 32, 0, { LOCKED(__threadfence()) })

#define FLAGGED(FENCE)                                   \
  volatile int* flag = reinterpret_cast<int*>(a + 200);  \
  if (threadIdx.x) return;                               \
  if (!blockIdx.x) {                                     \
    a[0] = b[0];                                         \
    FENCE;                                               \
    *flag = 1;                                           \
  } else if (*flag) {                                    \
    FENCE;                                               \
    a[1] = a[0];                                         \
  }
WRONG(flag, 2, 32, 0, { FLAGGED(;) })
RIGHT(flag, 2, 32, 0, { FLAGGED(__threadfence()) })

// A loop as in NVIDIA's programming guide; its first read need not be atomic.
RIGHT(compare_and_swap, 2, 32, 0, {
  int* place = reinterpret_cast<int*>(a);
  int old = *place, assumed;
  do {
    assumed = old;
    old = atomicCAS(place, assumed, __float_as_int(__int_as_float(assumed) + 1));
  } while (assumed != old);
})

// The winner of a round is read after the last barrier, and written anew before the first of the next one: farthest
// point sampling as in pointnet2 (sampling_gpu.cu), without the barrier that some of its copies have added.
#define WINNERS(BARRIER)                                              \
  __shared__ float best[64];                                          \
  __shared__ int winner[64];                                          \
  int i = threadIdx.x, last = 0;                                      \
  for (int round = 0; round < 3; round++) {                           \
    best[i] = i == last ? -1 : b[i];                                  \
    winner[i] = i;                                                    \
    __syncthreads();                                                  \
    for (int half = 32; half; half /= 2) {                            \
      if (i < half && best[i + half] > best[i]) best[i] = best[i + half], winner[i] = winner[i + half]; \
      __syncthreads();                                                \
    }                                                                 \
    last = winner[0];                                                 \
    BARRIER;                                                          \
    if (!i) a[round] = last;                                          \
  }
WRONG(farthest_points, 1, 64, 0, { WINNERS(;) })
RIGHT(farthest_points, 1, 64, 0, { WINNERS(__syncthreads()) })

#define MOVED(BARRIER) { \
  if (threadIdx.x == 0) memmove(a, b, n * sizeof(float)); \
  BARRIER \
  if (threadIdx.x == 1) a[5] = a[6] + 1; \
}
WRONG(copy_of_one_thread, 1, 32, 0, MOVED())
RIGHT(copy_of_one_thread, 1, 32, 0, MOVED(__syncthreads();))

#define PHASES(WAIT)                                         \
  __shared__ cuda::barrier<cuda::thread_scope_block> phases; \
  if (threadIdx.x == 0) init(&phases, blockDim.x);           \
  __syncthreads();                                           \
  REVERSED(WAIT)
WRONG(arrival_without_a_wait, 1, 64, 0, { PHASES(phases.arrive()) })
RIGHT(arrival_without_a_wait, 1, 64, 0, { PHASES(phases.arrive_and_wait()) })

// The first warp copies rows of 32 numbers, and the second one reads them.
#define STAGES(FIRST, LAST)                                                                 \
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;                \
  __shared__ float rows[2][32];                                                             \
  int i = threadIdx.x % 32;                                                                 \
  auto block = cooperative_groups::this_thread_block();                                     \
  auto pipe = cuda::make_pipeline(block, &state, 32);                                       \
  for (int row = 0; row < 6; row++) {                                                       \
    if (threadIdx.x < 32) {                                                                 \
      pipe.producer_acquire();                                                              \
      cuda::memcpy_async(&rows[row % 2][i], b + row * 32 + i, sizeof(float), pipe);         \
      pipe.producer_commit();                                                               \
    } else {                                                                                \
      pipe.consumer_wait();                                                                 \
      FIRST;                                                                                \
      LAST;                                                                                 \
    }                                                                                       \
  }
#define ROW_READ a[row * 32 + i] = rows[row % 2][31 - i]
WRONG(stage_released_too_early, 1, 64, 0, { STAGES(pipe.consumer_release(), ROW_READ) })
RIGHT(stage_released_too_early, 1, 64, 0, { STAGES(ROW_READ, pipe.consumer_release()) })
