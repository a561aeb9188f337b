// Barriers and semaphores of libcu++, whose waiting threads let the others of their block, or other blocks, on.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/semaphore>
#include <cuda/std/utility>
#include <cuda_runtime.h>

#include <cstdio>
#include <exception>

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;
static_assert(sizeof(Barrier) == 8 && alignof(Barrier) == 8);

// Each round reads what the neighbours wrote before they arrived; the wait is apart from the arrival.
__global__ void rounds(const int* in, int* out, int count) {
  __shared__ Barrier written, read;
  __shared__ int kept[128];
  int i = threadIdx.x, n = blockDim.x, own = in[i];
  if (i == 0) init(&written, n), init(&read, n);
  __syncthreads();
  for (int round = 0; round < count; round++) {
    kept[i] = own;
    Barrier::arrival_token token = written.arrive();
    int other = (i + 1) % n;
    written.wait(cuda::std::move(token));
    own = kept[other] + kept[(i + n - 1) % n];
    read.arrive_and_wait();
  }
  out[i] = own;
}

// In round r the threads from r on have left; those that stay wait only for each other.
__global__ void dropping(int* out) {
  __shared__ Barrier barrier;
  __shared__ int here[32];
  int i = threadIdx.x;
  if (i == 0) init(&barrier, blockDim.x);
  here[i] = 0;
  __syncthreads();
  for (int round = int(blockDim.x) - 1; round >= 0; round--) {
    atomicAdd(&here[round], 1);
    if (i == round) return barrier.arrive_and_drop();
    barrier.arrive_and_wait();
    if (i == 0) out[round] = here[round];
  }
}

struct Total {
  int *sum, *phases;
  __device__ void operator()() { phases[0] += 1, phases[1 + (phases[0] & 1)] = *sum; }
};
using Counting = cuda::barrier<cuda::thread_scope_block, Total>;
__global__ void completed(int* out) {
  __shared__ alignas(Counting) unsigned char place[sizeof(Counting)];
  __shared__ int sum, phases[3];
  Counting& barrier = *reinterpret_cast<Counting*>(place);
  if (threadIdx.x == 0) {
    sum = phases[0] = 0;
    init(&barrier, blockDim.x, Total{&sum, phases});
  }
  __syncthreads();
  bool right = true;
  for (int round = 1; round <= 5; round++) {
    atomicAdd(&sum, 1);
    barrier.arrive_and_wait();
    right = right && phases[0] == round && phases[1 + (round & 1)] == round * int(blockDim.x);
  }
  out[threadIdx.x] = right;
}

__device__ cuda::barrier<cuda::thread_scope_device> of_blocks;
__global__ void prepare(int threads) { init(&of_blocks, threads); }
__global__ void among_blocks(int* from, int* to, int count) {
  int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < count; round++) {
    to[i] = from[(i + 1) % n] + from[(i + n - 1) % n];
    auto token = of_blocks.arrive();
    if (i % 2) of_blocks.wait(cuda::std::move(token));
    else while (!of_blocks.try_wait_for(cuda::std::move(token), std::chrono::microseconds(1))) {}
    int* other = from;
    from = to, to = other;
  }
}

// A phase ends when the copies that were given to it are there.
__global__ void copied(const int* in, int* out, int n) {
  extern __shared__ int kept[];
  __shared__ Barrier barrier;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  block.sync();
  cuda::memcpy_async(block, kept, in, sizeof(int) * n, barrier);
  if (threadIdx.x == 0) cuda::memcpy_async(kept + n, in, cuda::aligned_size_t<4>(4), barrier);
  barrier.arrive_and_wait();
  for (int i = threadIdx.x; i <= n; i += blockDim.x) out[i] = kept[n - i];
}

__global__ void semaphores(int* most, int* sum) {
  __shared__ cuda::counting_semaphore<cuda::thread_scope_block, 3> some;
  __shared__ cuda::binary_semaphore<cuda::thread_scope_block> one;
  __shared__ int inside;
  if (threadIdx.x == 0) new (&some) decltype(some)(3), new (&one) decltype(one)(1), inside = 0;
  __syncthreads();
  some.acquire();
  atomicMax(most, atomicAdd(&inside, 1) + 1);
  one.acquire();
  int seen = *sum;
  __syncwarp(1u << (threadIdx.x % 32));
  *sum = seen + 1;
  one.release();
  atomicSub(&inside, 1);
  some.release();
}

// One more is expected than there are threads.
__global__ void alone() {
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x + 1);
  __syncthreads();
  barrier.arrive_and_wait();
}

extern "C" {
void launch_rounds(const int* in, int* out, int n, int count) { rounds<<<1, n>>>(in, out, count); }
void launch_dropping(int* out) { dropping<<<1, 32>>>(out); }
void launch_completed(int* out) { completed<<<1, 64>>>(out); }
int launch_among_blocks(int* from, int* to, int count) {
  prepare<<<1, 1>>>(4 * 32);
  void* arguments[] = {&from, &to, &count};
  return cudaLaunchCooperativeKernel((void*)among_blocks, dim3(4), dim3(32), arguments, 0, nullptr);
}
void launch_copied(const int* in, int* out, int n) { copied<<<1, 64, (n + 1) * sizeof(int)>>>(in, out, n); }
void launch_semaphores(int* most, int* sum) { semaphores<<<1, 64>>>(most, sum); }
int launch_alone(char* said, int size) {
  try {
    alone<<<1, 32>>>();
  } catch (const std::exception& error) {
    return snprintf(said, size, "%s", error.what());
  }
  return 0;
}
}
