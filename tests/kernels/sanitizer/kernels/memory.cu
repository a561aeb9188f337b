// Accesses outside of their memory. a and b have 100 numbers each, n is 100.
#include "calls.h"

WRONG(no_guard, 1, 128, 0, { a[threadIdx.x] = 1; })
RIGHT(no_guard, 1, 128, 0, { if (threadIdx.x < n) a[threadIdx.x] = 1; })

WRONG(guard_is_one_off, 4, 32, 0, {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) a[i] = 1;
})
RIGHT(guard_is_one_off, 4, 32, 0, {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = 1;
})

WRONG(guard_of_the_grid, 2, 64, 0, {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < gridDim.x * blockDim.x; i += gridDim.x * blockDim.x) a[i] = b[i];
})
RIGHT(guard_of_the_grid, 2, 64, 0, {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) a[i] = b[i];
})

WRONG(stencil_before_the_start, 1, 100, 0, { a[threadIdx.x] = b[int(threadIdx.x) - 200]; })
RIGHT(stencil_before_the_start, 1, 100, 0, { a[threadIdx.x] = b[max(int(threadIdx.x) - 200, 0)]; })

WRONG(vector_over_the_end, 1, 26, 0, { reinterpret_cast<float4*>(a)[threadIdx.x] = {1, 2, 3, 4}; })
RIGHT(vector_over_the_end, 1, 25, 0, { reinterpret_cast<float4*>(a)[threadIdx.x] = {1, 2, 3, 4}; })

WRONG(vector_astride_the_end, 1, 1, 0, {
  float2* last = reinterpret_cast<float2*>(a + n - 1);
  *last = make_float2(1, 2);
})
RIGHT(vector_astride_the_end, 1, 1, 0, {
  float2* last = reinterpret_cast<float2*>(a + n - 2);
  *last = make_float2(1, 2);
})

WRONG(bytes_for_elements, 1, 1, 0, { for (int i = 0; i < n * 4; i++) a[i] = 0; })
RIGHT(bytes_for_elements, 1, 1, 0, { for (int i = 0; i < n; i++) a[i] = 0; })

WRONG(wider_type, 1, 100, 0, { reinterpret_cast<double*>(a)[threadIdx.x] = 1; })
RIGHT(wider_type, 1, 50, 0, { reinterpret_cast<double*>(a)[threadIdx.x] = 1; })

WRONG(rows_and_columns, dim3(1, 1), dim3(20, 5), 0, { a[threadIdx.x * 20 + threadIdx.y] = 1; })
RIGHT(rows_and_columns, dim3(1, 1), dim3(20, 5), 0, { a[threadIdx.y * 20 + threadIdx.x] = 1; })

WRONG(atomic_outside, 1, 128, 0, { atomicAdd(a + threadIdx.x, 1.0f); })
RIGHT(atomic_outside, 1, 128, 0, { atomicAdd(a + threadIdx.x % n, 1.0f); })

#define SHIFTED { \
  extern __shared__ float tile[]; \
  tile[threadIdx.x + 1] = b[threadIdx.x]; \
  __syncthreads(); \
  a[threadIdx.x] = tile[threadIdx.x + 1]; \
}
WRONG(dynamic_shared_memory, 1, 32, 32 * 4, SHIFTED)
RIGHT(dynamic_shared_memory, 1, 32, 33 * 4, SHIFTED)

WRONG(misaligned_number, 1, 1, 0, { *reinterpret_cast<int*>(reinterpret_cast<char*>(a) + 2) = 1; })
RIGHT(misaligned_number, 1, 1, 0, { *reinterpret_cast<int*>(reinterpret_cast<char*>(a) + 4) = 1; })

WRONG(misaligned_double, 1, 1, 0, { *reinterpret_cast<double*>(a + 1) = 1; })
RIGHT(misaligned_double, 1, 1, 0, { *reinterpret_cast<double*>(a + 2) = 1; })

#define BESIDE(SIZE) { \
  __shared__ float tile[SIZE]; \
  __shared__ float beside[32]; \
  tile[threadIdx.x + 1] = beside[threadIdx.x] = b[threadIdx.x]; \
  __syncthreads(); \
  a[threadIdx.x] = tile[threadIdx.x + 1] + beside[threadIdx.x]; \
}
WRONG(static_shared_memory, 1, 32, 0, BESIDE(32))
RIGHT(static_shared_memory, 1, 32, 0, BESIDE(33))

template <int ROWS>
static __device__ float column(const float* b) {
  __shared__ float tile[ROWS][16];
  tile[threadIdx.y][threadIdx.x] = b[threadIdx.x];
  __syncthreads();
  return tile[threadIdx.x][threadIdx.y];
}
WRONG(row_of_a_static_tile, 1, dim3(16, 16), 0, { a[threadIdx.y] = column<15>(b); })
RIGHT(row_of_a_static_tile, 1, dim3(16, 16), 0, { a[threadIdx.y] = column<16>(b); })

#define COPIED { \
  __shared__ float tile[128]; \
  __pipeline_memcpy_async(tile + threadIdx.x * 4, b + threadIdx.x * 4, 16); \
  __pipeline_commit(); \
  __pipeline_wait_prior(0); \
  __syncthreads(); \
  a[threadIdx.x] = tile[threadIdx.x]; \
}
WRONG(asynchronous_copy, 1, 32, 0, COPIED)
RIGHT(asynchronous_copy, 1, 25, 0, COPIED)

WRONG(null_pointer, 1, 1, 0, {
  float* nothing = n ? nullptr : a;
  nothing[1] = 1;
})
RIGHT(null_pointer, 1, 1, 0, {
  float* nothing = n ? nullptr : a;
  if (nothing) nothing[1] = 1;
})

static __device__ __attribute__((noinline)) float deep(const float* b, int n, volatile float* above) {
  volatile float kept[64];
  kept[0] = b[n % 100] + (above ? above[0] : 0);
  return n ? deep(b, n - 1, kept) + kept[0] : kept[0];
}
KERNEL(endless_recursion, 1, 1, 0, { a[0] = deep(b, n * 100000, nullptr); })
KERNEL(deep_recursion, 1, 1, 0, { a[0] = deep(b, n, nullptr); })

WRONG(wild_pointer, 1, 1, 0, { a[0] = b[size_t(1) << 44]; })
RIGHT(wild_pointer, 1, 1, 0, { a[0] = b[(size_t(1) << 44) % 100]; })

WRONG(copy_over_the_end, 1, 1, 0, { memcpy(a + 1, b, n * sizeof(float)); })
RIGHT(copy_over_the_end, 1, 1, 0, { memcpy(a + 1, b, (n - 1) * sizeof(float)); })

WRONG(fill_over_the_end, 1, 1, 0, { memset(a + n / 2, 0, n * sizeof(float)); })
RIGHT(fill_over_the_end, 1, 1, 0, { memset(a + n / 2, 0, n / 2 * sizeof(float)); })
