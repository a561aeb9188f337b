// Shared memory, static and dynamic, and barriers, also in loops and with threads that have left.
#include <cuda_runtime.h>

template <int SIZE>
__global__ void reverse_static(const float* in, float* out) {
  __shared__ float kept[SIZE];
  kept[threadIdx.x] = in[blockIdx.x * SIZE + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * SIZE + threadIdx.x] = kept[SIZE - 1 - threadIdx.x];
}

__global__ void sum_dynamic(const float* in, float* out, int n) {
  extern __shared__ __align__(16) float partial[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  partial[threadIdx.x] = i < n ? in[i] : 0.f;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

// Arrays of a launch's memory may have sizes (apex), and a launch's blocks may stand in braces.
__global__ void turned(const int* in, int* out) {
  extern __shared__ int rows[][4];
  extern __shared__ volatile int sized[3][4];
  rows[threadIdx.y][threadIdx.x] = in[threadIdx.y * blockDim.x + threadIdx.x];
  __syncthreads();
  out[threadIdx.x * blockDim.y + threadIdx.y] = sized[threadIdx.y][threadIdx.x] + int(sizeof(sized));
}
extern "C" int launch_turned(const int* in, int* out) {
  turned<<<{1, 1}, {4, 3, 1}, 3 * 4 * sizeof(int)>>>(in, out);
  return cudaGetLastError();
}

// As the softmax of apex does: what a loop has found is read right after it, and overwritten before the next barrier.
__global__ void away_from_most(const int* in, int* out) {
  __shared__ int kept[64];
  kept[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int by = 32; by > 0; by /= 2) {
    if (threadIdx.x < by) kept[threadIdx.x] = max(kept[threadIdx.x], kept[threadIdx.x + by]);
    __syncthreads();
  }
  int most = kept[0];
  kept[threadIdx.x] = most - in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = kept[63 - threadIdx.x];
}
extern "C" int launch_away_from_most(const int* in, int* out) {
  away_from_most<<<1, 64>>>(in, out);
  return cudaGetLastError();
}

extern __shared__ double whole_file[];
__global__ void cumulate(const double* in, double* out, int n) {
  if (int(threadIdx.x) >= n) return;  // the others go on without these
  whole_file[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int by = 1; by < n; by *= 2) {
    double own = whole_file[threadIdx.x], left = int(threadIdx.x) >= by ? whole_file[threadIdx.x - by] : 0;
    __syncthreads();
    whole_file[threadIdx.x] = own + left;
    __syncthreads();
  }
  out[threadIdx.x] = whole_file[threadIdx.x];
}

// As farthest point sampling does: each round reads the winner after the last barrier, and the next one writes to the
// same place before its first. No barrier lies between, but on a GPU the reads are over long before.
template <unsigned SIZE>
__global__ void rounds_of_maxima(float* in, int* out, int n, int rounds) {
  __shared__ float best[SIZE];
  __shared__ int index[SIZE];
  const int t = threadIdx.x;
  int last = -1;
  for (int round = 0; round < rounds; round++) {
    float own = -1e30f;
    int at = 0;
    for (int i = t; i < n; i += SIZE) {
      if (i == last) in[i] = -1e30f;
      if (in[i] > own) own = in[i], at = i;
    }
    best[t] = own;
    index[t] = at;
    __syncthreads();
    for (unsigned half = SIZE / 2; half > 0; half /= 2) {
      if (t < half && best[t + half] > best[t]) best[t] = best[t + half], index[t] = index[t + half];
      __syncthreads();
    }
    last = index[0];
    if (t == 0) out[round] = last;
  }
}

__global__ void places(int* out, dim3 grid) {
  unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  bool same = grid.x == gridDim.x && grid.y == gridDim.y && grid.z == gridDim.z;
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = same ? int(block * 1000 + thread) : -1;
}

__constant__ float weights[4];
__device__ int visits = 0;
__global__ void weighted(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x] * weights[threadIdx.x & 3];
  if (threadIdx.x == 0) atomicAdd(&visits, 1);
}

__global__ void counted(const int* in, int* out) {
  int some = __syncthreads_count(in[threadIdx.x] > 5);
  int all = __syncthreads_and(in[threadIdx.x] >= 0);
  int any = __syncthreads_or(in[threadIdx.x] == 7);
  if (threadIdx.x == 0) out[0] = some, out[1] = all, out[2] = any;
}

#define LAUNCH(KERNEL, ...) KERNEL<<<dim3(2), 64>>>(__VA_ARGS__)

// Names of built-in variables that a program gives to its own.
struct Shape {
  dim3 gridDim, blockDim;
  explicit Shape(dim3 blocks) : gridDim(blocks), blockDim(8) {}
};
__device__ int sum_of(int gridDim, const dim3& blockDim) { return gridDim * 1000 + int(blockDim.x); }
__global__ void named(int* out, int gridDim) {
  int place = blockIdx.x * blockDim.x + threadIdx.x;
  auto other = [=](dim3 threadIdx) { return int(threadIdx.x); };
  out[place] = sum_of(gridDim, dim3(7)) + 10 * int(threadIdx.x) + other(dim3(100));
}

// As FlashAttention's convert_type: what an inlined function returns a pointer to are registers of its caller.
struct Words { int value[8]; };
struct View { int* start; };
struct Doubled {
  __forceinline__ __device__ Words operator()(const Words& words) const {
    Words result;
#pragma unroll
    for (int i = 0; i < 8; i++) asm volatile("add.s32 %0, %1, %1;" : "=r"(result.value[i]) : "r"(words.value[i]));
    return result;
  }
};
__forceinline__ __device__ View doubled(const Words& words) {
  auto result = Doubled()(words);
  return {result.value};
}
__forceinline__ __device__ View negated(const Words& words) {
  Words result;
  result.value[0] = -words.value[0], result.value[1] = -words.value[1];
#pragma unroll
  for (int i = 2; i < 8; i++) result.value[i] = -words.value[i];
  return {result.value};
}
__global__ void returned(const int* in, int* out, int step) {
  Words words;
  for (int i = 0; i < 8; i++) words.value[i] = in[i];
  View view = doubled(words), other = negated(words);
  for (int round = 0; round < 2; round++) {
    Words others;
    for (int i = 0; i < 8; i++) others.value[i * step % 8] = in[i] - round;
    for (int i = 0; i < 8; i++) out[8 * round + i] = others.value[(i + step) % 8];
  }
  for (int i = 0; i < 8; i++) out[16 + i] = view.start[i], out[24 + i] = other.start[i];
}

__global__ void changed(int n, int* out);
void launch_first(int n, int* out) { changed<<<1, 4>>>(n, out); }
__global__ void changed(int n, int* out) {  // its own parameters
  out += blockIdx.x * blockDim.x + threadIdx.x;
  n -= int(threadIdx.x);
  *out = n;
}
__device__ int votes_of_those_left() { return __syncthreads_count(1); }
__global__ void late(int* out) {
  out[threadIdx.x + blockDim.x * threadIdx.y] = threadIdx.y < 3 ? -int(threadIdx.x) : votes_of_those_left();
}

extern "C" {
void launch_changed(int* out) {
  launch_first(10, out);
  changed<<<2, 4>>>(20, out + 4);
}
void launch_late(int* out) { late<<<1, dim3(20, 5)>>>(out); }
void launch_named(int* out) {
  Shape shape(dim3(3));
  dim3 gridDim(shape.gridDim), blockDim = shape.blockDim;
  blockDim.x = 4;
  named<<<gridDim, blockDim>>>(out, int(gridDim.x));
}
void launch_returned(const int* in, int* out) { returned<<<1, 1>>>(in, out, 3); }
void launch_reverse(const float* in, float* out) { LAUNCH(reverse_static<64>, in, out); }
void launch_sum(const float* in, float* out, int n, int blocks, int threads) {
  sum_dynamic<<<blocks, threads, threads * sizeof(float), 0>>>(in, out, n);
}
void launch_cumulate(const double* in, double* out, int n) { cumulate<<<1, 128, 128 * sizeof(double)>>>(in, out, n); }
void launch_maxima(float* in, int* out, int n, int rounds) { rounds_of_maxima<128><<<1, 128>>>(in, out, n, rounds); }
void launch_places(int* out) {
  dim3 grid(2, 3, 2), block(4, 2, 2);
  places<<<grid, block>>>(out, grid);
}
int launch_weighted(const float* in, float* out, const float* chosen) {
  cudaMemcpyToSymbol(weights, chosen, sizeof weights);
  weighted<<<1, 32>>>(in, out);
  int seen = 0;
  cudaMemcpyFromSymbol(&seen, visits, sizeof seen);
  return seen;
}
void launch_counted(const int* in, int* out) { counted<<<1, 48>>>(in, out); }
}
