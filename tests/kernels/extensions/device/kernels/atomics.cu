// Atomic objects of libcu++: each operation, a lock, and a barrier of blocks by two counters.
#include <cuda/atomic>
#include <cuda_runtime.h>

template <class T>
__global__ void operations(T* counts) {
  T i = T(blockIdx.x * blockDim.x + threadIdx.x);
  cuda::atomic_ref<T, cuda::thread_scope_device>(counts[0]).fetch_add(i, cuda::memory_order_relaxed);
  cuda::atomic_ref<T> second(counts[1]);
  second -= i;
  cuda::atomic_ref<T> third(counts[2]);
  third++;
  cuda::atomic_ref<T>(counts[3]).fetch_max(i);
  cuda::atomic_ref<T>(counts[4]).fetch_min(T(0) - i);
  T seen = cuda::atomic_ref<T>(counts[5]).load();
  while (!cuda::atomic_ref<T>(counts[5]).compare_exchange_weak(seen, seen + 2)) {}
}

__global__ void bits(unsigned* words) {
  unsigned bit = 1u << threadIdx.x;
  cuda::atomic_ref<unsigned, cuda::thread_scope_block> all(words[0]), none(words[1]), odd(words[2]);
  all |= bit;
  none &= ~bit;
  odd ^= bit | 1;
  if (threadIdx.x == 0) words[4] = cuda::std::atomic_ref<unsigned>(words[3]).exchange(9);
}

// Blocks wait for each other by a counter and a sense, as exllamav3's kernels do; a lock of the block's adds up.
__global__ void rounds(int* counter, int* sense, int* sums) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> lock;
  if (threadIdx.x == 0) lock = 0;
  __syncthreads();
  for (int round = 0; round < 3; round++) {
    while (lock.exchange(1, cuda::memory_order_acquire)) {}
    sums[blockIdx.x] += 1;
    lock.store(0, cuda::memory_order_release);
    __syncthreads();
    if (threadIdx.x == 0) {
      cuda::atomic_ref<int, cuda::thread_scope_device> arrived(*counter), turn(*sense);
      int before = turn.load(cuda::memory_order_relaxed);
      if (arrived.fetch_add(1, cuda::memory_order_acq_rel) == int(gridDim.x) - 1) {
        arrived.store(0, cuda::memory_order_relaxed);
        turn.store(1 - before, cuda::memory_order_release);
      } else {
        while (turn.load(cuda::memory_order_acquire) == before) __nanosleep(32);
      }
      cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
    }
    __syncthreads();
  }
}

extern "C" {
void launch_integers(int* counts) { operations<<<4, 64>>>(counts); }
void launch_wide(long long* counts) { operations<<<4, 64>>>(counts); }
void launch_doubles(double* counts) { operations<<<4, 64>>>(counts); }
void launch_bits(unsigned* words) { bits<<<1, 32>>>(words); }
void launch_rounds(int* counter, int* sense, int* sums) { rounds<<<6, 64>>>(counter, sense, sums); }
}
