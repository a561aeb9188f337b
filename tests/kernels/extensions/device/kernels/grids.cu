// Blocks that wait for each other: a barrier of the grid, and places in memory that they look at.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

// Each round sums what the neighbours wrote in the one before.
__global__ void rounds(int* from, int* to, int count) {
  cg::grid_group grid = cg::this_grid();
  int i = grid.thread_rank(), n = grid.size();
  for (int round = 0; round < count; round++) {
    to[i] = from[(i + 1) % n] + from[(i + n - 1) % n];
    grid.sync();
    int* other = from;
    from = to, to = other;
  }
}

// The first block waits for the last, as reductions over blocks do that are numbered from the bottom to the top.
__global__ void chained(int* lock, int* out) {
  int after = gridDim.x - 1 - blockIdx.x;
  if (threadIdx.x == 0) {
    int state = -1;
    do asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(state) : "l"(lock));
    while (state != after);
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = after * 100 + threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(lock) : "memory");
}

// By functions: a lock that a thread of another warp holds, and a flag of the last block's.
__global__ void locked(int* lock, int* flag, int* sum) {
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    int seen = *sum;
    __syncwarp(1);
    *sum = seen + 1;
    __threadfence();
    atomicExch(lock, 0);
  }
  if (threadIdx.x == 0) {
    if (blockIdx.x == gridDim.x - 1) atomicExch(flag, 7);
    while (atomicAdd(flag, 0) != 7) __nanosleep(100);
  }
}

// A barrier of some blocks as apex writes it, with names of CUDA's own: the last arrival flips the highest bit.
__device__ void meet(unsigned* barrier) {
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned add = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1, old, now;
    asm volatile("atom.add.release.gpu.u32 %0,[%1],%2;"
                 : "=r"(old)
                 : _CG_ASM_PTR_CONSTRAINT(barrier), "r"(add)
                 : "memory");
    do asm volatile("ld.acquire.gpu.u32 %0,[%1];" : "=r"(now) : _CG_ASM_PTR_CONSTRAINT(barrier) : "memory");
    while (!cooperative_groups::details::bar_has_flipped(old, now));
  }
  __syncthreads();
}
__global__ void meetings(unsigned* barrier, int* from, int* to, int count) {
  int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < count; round++) {
    to[i] = from[(i + 1) % n] + from[(i + n - 1) % n];
    meet(barrier);
    int* other = from;
    from = to, to = other;
  }
}

__global__ void filled(int* out, int value) { out[blockIdx.x * blockDim.x + threadIdx.x] = value; }

// Kernels in a table are launched by a variable, as exllamav3's are.
using Kernel = void (*)(int*, int);
Kernel table[] = {nullptr, filled};

extern "C" {
int launch_by_a_variable(int* out, int value) {
  Kernel kernel = table[1];
  void* arguments[] = {&out, &value};
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
  int first = cudaLaunchKernel(
    (void*) kernel, dim3(1), dim3(32), arguments, 0, nullptr
  );
  out += 32;
  return first ? first : cudaLaunchCooperativeKernel((void *)kernel, dim3(1), dim3(32), arguments, 0, nullptr);
}
int launch_rounds(int* from, int* to, int count, int blocks) {
  void* arguments[] = {&from, &to, &count};
  return cudaLaunchCooperativeKernel((void*)rounds, dim3(blocks), dim3(32), arguments, 0, nullptr);
}
int launch_rounds_by_configuration(int* from, int* to, int count, int blocks, int cluster) {
  cudaLaunchAttribute attributes[2];
  attributes[0].id = cudaLaunchAttributeCooperative, attributes[0].val.cooperative = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim.x = cluster, attributes[1].val.clusterDim.y = attributes[1].val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks, config.blockDim = dim3(32), config.attrs = attributes, config.numAttrs = 2;
  return cudaLaunchKernelEx(&config, rounds, from, to, count);
}
void launch_meetings(unsigned* barrier, int* from, int* to, int count) {
  meetings<<<4, 32>>>(barrier, from, to, count);
}
void launch_chained(int* lock, int* out) { chained<<<12, 64>>>(lock, out); }
void launch_locked(int* lock, int* flag, int* sum) { locked<<<6, 128>>>(lock, flag, sum); }
}
