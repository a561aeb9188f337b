// Barriers that not all threads reach, or not the same. a and b have 256 numbers each, n is 256.
#include "calls.h"

// The preprocessor puts all of a macro on one line, by which barriers are told apart.
static __device__ void scale(float* tile, const float* b) {
  tile[threadIdx.x] = 2 * b[threadIdx.x];
  __syncthreads();
}
static __device__ void copy(float* tile, const float* b) {
  tile[threadIdx.x] = b[threadIdx.x];
  __syncthreads();
}
WRONG(different_barriers, 1, 64, 0, {
  __shared__ float tile[64];
  if (threadIdx.x < 32) copy(tile, b);
  else scale(tile, b);
  a[threadIdx.x] = tile[threadIdx.x ^ 1];
})
RIGHT(different_barriers, 1, 64, 0, {
  __shared__ float tile[64];
  tile[threadIdx.x] = (threadIdx.x < 32 ? 1 : 2) * b[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = tile[threadIdx.x ^ 1] + threadIdx.x / 32;
})

#define ROUNDS(BARRIER_INSIDE, BARRIER_OUTSIDE) { \
  __shared__ float sums[64]; \
  sums[threadIdx.x] = 0; \
  __syncthreads(); \
  for (int i = 0; i < n; i += 64) { \
    if (i + threadIdx.x < n - 16) { sums[threadIdx.x] += b[i + threadIdx.x]; BARRIER_INSIDE } \
    BARRIER_OUTSIDE \
  } \
  a[threadIdx.x] = sums[threadIdx.x]; \
}
WRONG(threads_that_leave_the_last_round, 1, 64, 0, ROUNDS(__syncthreads();, ))
RIGHT(threads_that_leave_the_last_round, 1, 64, 0, ROUNDS(, __syncthreads();))

WRONG(a_return_between_barriers, 1, 64, 0, {
  __shared__ float tile[64];
  tile[threadIdx.x] = b[threadIdx.x];
  __syncthreads();
  if (threadIdx.x >= 40) return;
  float value = tile[threadIdx.x + 1];
  __syncthreads();
  tile[threadIdx.x] = value;
  a[threadIdx.x] = tile[threadIdx.x];
})
RIGHT(a_return_between_barriers, 1, 64, 0, {
  __shared__ float tile[64];
  if (threadIdx.x >= 41) return;
  tile[threadIdx.x] = b[threadIdx.x];
  __syncthreads();
  float value = tile[min(threadIdx.x + 1, 40u)];
  __syncthreads();
  tile[threadIdx.x] = value;
  a[threadIdx.x] = tile[threadIdx.x];
})

#define OF_LANES(MASK) { \
  __shared__ float tile[32]; \
  if (threadIdx.x < 20) { \
    tile[threadIdx.x] = b[threadIdx.x]; \
    __syncwarp(MASK); \
    a[threadIdx.x] = tile[threadIdx.x / 2]; \
  } \
}
WRONG(mask_without_the_thread, 1, 32, 0, OF_LANES(0x0000ffffu))
RIGHT(mask_without_the_thread, 1, 32, 0, OF_LANES(0x000fffffu))

#define EXCHANGED(MASK) { if (threadIdx.x < 8) a[threadIdx.x] = __shfl_xor_sync(MASK, b[threadIdx.x], 1); }
WRONG(shuffle_without_the_thread, 1, 32, 0, EXCHANGED(0xf0u))
RIGHT(shuffle_without_the_thread, 1, 32, 0, EXCHANGED(0xffu))
