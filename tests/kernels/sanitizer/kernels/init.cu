// Reads of memory that nothing was written to. a and b have 100 numbers each, n is 100; those of a are not there yet.
#include "calls.h"

#include <cuda_pipeline.h>

WRONG(sum_into_fresh_memory, 1, 100, 0, { a[threadIdx.x] += b[threadIdx.x]; })
RIGHT(sum_into_fresh_memory, 1, 100, 0, { a[threadIdx.x] = b[threadIdx.x]; a[threadIdx.x] += 1; })

#define RESCALED(FIRST) { \
  for (int round = 0; round < 2; round++) a[threadIdx.x] = (FIRST) + b[threadIdx.x]; \
}
WRONG(zero_times_the_unwritten, 1, 100, 0, RESCALED(a[threadIdx.x] * 0.5f * round))  // which may be NaN
RIGHT(zero_times_the_unwritten, 1, 100, 0, RESCALED(round ? a[threadIdx.x] * 0.5f * round : 0))

RIGHT(same_value_last, 2, dim3(32, 1, 2), 32 * 4, {
  extern __shared__ float tile[];
  tile[threadIdx.x] = b[threadIdx.x];
})

WRONG(atomic_sum, 1, 100, 0, { atomicAdd(a + threadIdx.x % 10, b[threadIdx.x]); })
RIGHT(atomic_sum, 1, 100, 0, {
  if (threadIdx.x < 10) a[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(a + threadIdx.x % 10, b[threadIdx.x]);
})

WRONG(atomic_count, 1, 100, 0, { atomicAdd(reinterpret_cast<unsigned*>(a), 1u); })
RIGHT(atomic_count, 1, 100, 0, {
  if (threadIdx.x == 0) a[0] = 0;
  __syncthreads();
  atomicAdd(reinterpret_cast<unsigned*>(a), 1u);
})

WRONG(neighbour_beyond_the_block, 1, 64, 0, {
  a[threadIdx.x] = b[threadIdx.x];
  __syncthreads();
  float next = a[threadIdx.x + 1];
  __syncthreads();
  a[threadIdx.x] = next;
})
RIGHT(neighbour_beyond_the_block, 1, 64, 0, {
  a[threadIdx.x] = b[threadIdx.x];
  __syncthreads();
  float next = a[min(threadIdx.x + 1, blockDim.x - 1)];
  __syncthreads();
  a[threadIdx.x] = next;
})

#define SUMMED(FILLED) { \
  __shared__ float tile[32]; \
  if (threadIdx.x < FILLED) tile[threadIdx.x] = b[threadIdx.x]; \
  __syncthreads(); \
  if (threadIdx.x == 0) { \
    float sum = 0; \
    for (int i = 0; i < 32; i++) sum += tile[i]; \
    a[0] = sum; \
  } \
}
WRONG(half_filled_tile, 1, 32, 0, SUMMED(16))
RIGHT(half_filled_tile, 1, 32, 0, SUMMED(32))

#define COUNTED(BEGIN) { \
  extern __shared__ int counts[]; \
  BEGIN \
  atomicAdd(counts + threadIdx.x % 4, 1); \
  __syncthreads(); \
  if (threadIdx.x < 4) a[threadIdx.x] = counts[threadIdx.x]; \
}
WRONG(histogram_not_cleared, 1, 32, 16, COUNTED())
RIGHT(histogram_not_cleared, 1, 32, 16, COUNTED(if (threadIdx.x < 4) counts[threadIdx.x] = 0; __syncthreads();))

#define KEPT(CONDITION) { \
  __shared__ float tile[32]; \
  if (CONDITION) tile[threadIdx.x] = b[threadIdx.x]; \
  __syncthreads(); \
  a[blockIdx.x * 32 + threadIdx.x] = tile[threadIdx.x ^ 1]; \
}
WRONG(shared_memory_of_the_block_before, 2, 32, 0, KEPT(blockIdx.x == 0))
RIGHT(shared_memory_of_the_block_before, 2, 32, 0, KEPT(true))

struct Pair {
  int key, value;
};
#define ONE_MEMBER(BEGIN) { \
  __shared__ Pair best; \
  if (threadIdx.x == 0) best.key = 1; \
  BEGIN \
  __syncthreads(); \
  a[threadIdx.x] = best.value; \
}
WRONG(one_member, 1, 32, 0, ONE_MEMBER())
RIGHT(one_member, 1, 32, 0, ONE_MEMBER(if (threadIdx.x == 0) best.value = 2;))

#define FLAGGED(BEGIN) { \
  volatile int* done = reinterpret_cast<int*>(a + n - 1); \
  BEGIN \
  if (*done != 1) a[0] = 1; \
}
WRONG(flag, 1, 1, 0, FLAGGED())
RIGHT(flag, 1, 1, 0, FLAGGED(*done = 0;))

#define BYTES(BEGIN) { \
  unsigned char* bytes = reinterpret_cast<unsigned char*>(a); \
  for (int i = 0; i < 8; i++) { BEGIN } \
  int sum = 0; \
  for (int i = 0; i < 8; i++) sum += bytes[i]; \
  a[4] = sum; \
}
WRONG(single_bytes, 1, 1, 0, BYTES())
RIGHT(single_bytes, 1, 1, 0, BYTES(bytes[i] = i;))

#define COPIED(BEGIN) { \
  __shared__ float tile[128]; \
  BEGIN \
  __pipeline_memcpy_async(tile + threadIdx.x * 4, a + threadIdx.x * 4, 16); \
  __pipeline_commit(); \
  __pipeline_wait_prior(0); \
  a[64 + threadIdx.x] = tile[threadIdx.x * 4]; \
}
WRONG(asynchronous_copy, 1, 16, 0, COPIED())
RIGHT(asynchronous_copy, 1, 16, 0, COPIED(for (int i = 0; i < 4; i++) a[threadIdx.x * 4 + i] = b[i];))

WRONG(wide_number, 1, 1, 0, { a[0] = float(reinterpret_cast<double*>(a)[7]); })
RIGHT(wide_number, 1, 1, 0, { reinterpret_cast<double*>(a)[7] = 1; a[0] = float(reinterpret_cast<double*>(a)[7]); })
