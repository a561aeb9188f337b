// Inline PTX, as public kernels write it.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#define LOAD "ld.global.nc.L1::no_allocate"

namespace kernels {
namespace ptx {  // a name of morph's own, and of a user's too

__device__ __forceinline__ unsigned lane() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

}  // namespace ptx

// One thread's registers, of every kind of constraint.
__global__ void registers(const float* in, float* out, double* doubles, int64_t* integers, short* shorts) {
  int i = threadIdx.x;
  float product, x = in[i];
  asm("{\n\t.reg .f32 t;\n\tadd.f32 t, %1, %2;\n\tmul.f32 %0, t, %1;\n}" : "=f"(product) : "f"(x), "f"(in[i] * 2));
  out[i] = product;
  asm volatile("fma.rn.f64 %0, %1, %1, %0;" : "+d"(doubles[i]) : "d"((double)x));
  if (i % 2) asm("mad.wide.s32 %0, %1, %2, %0;" : "+l"(integers[i]) : "r"(int(x * 100)), "n"(-3));
  else asm("mov.b64 %[result], {%[low], %[high]};" : [result] "=l"(integers[i]) : [low] "r"(i), [high] "r"(1));
  asm("min.s16 %0, %0, %1;" : "+h"(shorts[i]) : "h"(short(2)));
  asm volatile("" ::: "memory");
}

__global__ void places(int* out) {
  unsigned thread, block, threads, below;
  asm("mov.u32 %0, %%tid.x; mov.u32 %1, %%ctaid.x; mov.u32 %2, %%ntid.x;" : "=r"(thread), "=r"(block), "=r"(threads));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  out[block * threads + thread] = int(ptx::lane() + 100 * block + 1000 * __popc(below));
}

// Four numbers at once through a predicate, and what stays where it does not hold.
__global__ void vectors(const float* in, float* out, int n) {
  const float* from = in + 4 * threadIdx.x;
  float a, b, c, d;
  asm volatile(
      "{\n"
      "  .reg .pred p;\n"
      "  setp.lt.s32 p, %5, %6;\n"
      "  mov.b32 %0, 0f3F800000; mov.b32 %1, %0; mov.b32 %2, %0; mov.b32 %3, %0;\n"
      "  @p " LOAD ".v4.f32 {%0, %1, %2, %3}, [%4];\n"
      "}\n"
      : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(from), "r"((int)threadIdx.x), "r"(n) : "memory");
  asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(out + 4 * threadIdx.x), "f"(a), "f"(b) : "memory");
  asm volatile("st.global.cs.f32 [%0+8], %1; st.f32 [%0+12], %2;" ::"l"(out + 4 * threadIdx.x), "f"(c), "f"(d));
}

// A transpose by asynchronous copies into shared memory, that of a launch and that of a variable, in turns of a loop.
__global__ void copied(const float* in, float* out, int rounds) {
  extern __shared__ float4 of_launch[];
  __shared__ alignas(16) float4 variable[64];
  for (int round = 0; round < rounds; round++) {
    float4* tile = round % 2 ? variable : of_launch;
    unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(tile + threadIdx.x));
    const float* from = in + 4 * (round * 64 + threadIdx.x);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(threadIdx.x < 60 ? 16 : 8));
    asm volatile("cp.async.commit_group;\n" ::);
    asm volatile("cp.async.wait_group %0;\n" ::"n"(0));
    asm volatile("bar.sync 0;" : : : "memory");
    unsigned other = to ^ 16;  // the neighbour's, as swizzled addresses are made
    float x;
    asm volatile("ld.shared.f32 %0, [%1+4];" : "=f"(x) : "r"(other));
    out[round * 64 + threadIdx.x] = x;
    __syncthreads();
  }
}

// What stands in shared memory is read once more after the next copies have begun, as Marlin's kernel does.
__global__ void late(const float4* in, float4* out) {
  __shared__ float4 tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  __pipeline_memcpy_async(&tile[threadIdx.x], in + 64 + threadIdx.x, sizeof(float4), 4);
  __pipeline_commit();
  out[threadIdx.x] = tile[63 - threadIdx.x];
  __pipeline_wait_prior(0);
  __syncthreads();
  out[64 + threadIdx.x] = tile[63 - threadIdx.x];
}

__global__ void shifted(const unsigned* in, int* same) {
  unsigned low = in[0], high = in[1], by = threadIdx.x, left, right;
  asm("shf.l.clamp.b32 %0, %2, %3, %4; shf.r.clamp.b32 %1, %2, %3, %4;"
      : "=r"(left), "=r"(right)
      : "r"(low), "r"(high), "r"(by));
  same[by] = left == __funnelshift_lc(low, high, by) && right == __funnelshift_rc(low, high, by);
}

__global__ void warps(const int* in, int* out) {
  int v = in[threadIdx.x], n = 32, result, inside;
  for (int i = 0; i < 1; i++) {
    asm volatile("{.reg .pred p; shfl.sync.down.b32 %0|p, %2, 4, 0x1f, 0xffffffff; selp.s32 %1, 1, 0, p;}"
                 : "=r"(result), "=r"(inside) : "r"(v));
    out[threadIdx.x] = result, out[n + threadIdx.x] = inside;
    asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=r"(result) : "r"(v));
    out[2 * n + threadIdx.x] = result;
    asm volatile("{.reg .pred p; setp.gt.s32 p, %1, 10; vote.sync.ballot.b32 %0, p, 0xffffffff;}" : "=r"(result) : "r"(v));
    out[3 * n + threadIdx.x] = result;
    asm volatile("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(v));
    out[4 * n + threadIdx.x] = result;
    asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(v % 3));
    out[5 * n + threadIdx.x] = result;
  }
}

// Each half waits for itself, and the first for what the second has written, which does not wait.
__global__ void halves(const int* in, int* out) {
  __shared__ int own[128], others[64];
  int thread = threadIdx.x, half = thread / 64, place = thread % 64;
  own[thread] = in[thread];
  asm volatile("bar.sync %0, 64;" ::"r"(1 + half) : "memory");
  int reversed = own[64 * half + 63 - place];
  if (half) {
    others[place] = reversed;
    asm volatile("barrier.cta.arrive 3, 128;" ::: "memory");
  } else {
    asm volatile("barrier.cta.sync 3, 128;" ::: "memory");
    reversed += others[place];
  }
  out[thread] = reversed;
}

__global__ void atomics(int* counts, float* sums, __half2* halves, unsigned long long* wide, double* exact) {
  asm volatile("red.global.add.s32 [%0], %1;" ::"l"(counts), "r"(2) : "memory");
  asm volatile("red.relaxed.gpu.global.max.s32 [%0+4], %1;" ::"l"(counts), "r"((int)threadIdx.x) : "memory");
  asm volatile("red.global.or.b32 [%0+8], %1;" ::"l"(counts), "r"(1 << threadIdx.x % 32) : "memory");
  float before;
  asm volatile("atom.global.add.f32 %0, [%1], %2;" : "=f"(before) : "l"(sums), "f"(0.5f) : "memory");
  asm volatile("red.global.add.u64 [%0], %1;" ::"l"(wide), "l"(1ull << 40) : "memory");
  asm volatile("red.global.add.f64 [%0], %1;" ::"l"(exact), "d"(0.25) : "memory");
  __half2 one = __floats2half2_rn(1.f, 2.f);
  asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(halves), "r"(*reinterpret_cast<unsigned*>(&one)) : "memory");
}

// What is negative becomes 0: of two halves by a mask, and on the way to them; then a sum of 64 bits in two words.
__global__ void rectified(const float2* in, const unsigned* halves, unsigned* out, uint64_t* sums, int* count) {
  int thread = threadIdx.x, n = blockDim.x;
  float2 x = in[thread];
  asm volatile("{ .reg .f16x2 mask; set.gtu.u32.f16x2 mask, %1, %2; and.b32 %0, mask, %1; }"
               : "=r"(out[thread]) : "r"(halves[thread]), "r"(0));
  asm volatile("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(out[n + thread]) : "f"(x.y), "f"(x.x));
  asm volatile("{ .reg .u32 a, b, c, d; mov .b64 {a, b}, %1; mov .b64 {c, d}, %2;"
               " add.cc.u32 a, a, c; addc.u32 b, b, d; mov .b64 %0, {a, b}; }"
               : "=l"(sums[thread]) : "l"(0xffffffffull * thread), "l"(0x123456789ull));
  asm volatile("atom.global.add.s32 _, [%0], 1;" ::"l"(count) : "memory");
}

}  // namespace kernels

extern "C" {
void launch_registers(const float* in, float* out, double* doubles, int64_t* integers, short* shorts) {
  kernels::registers<<<1, 8>>>(in, out, doubles, integers, shorts);
}
void launch_places(int* out) { kernels::places<<<2, 64>>>(out); }
void launch_vectors(const float* in, float* out, int n) { kernels::vectors<<<1, 8>>>(in, out, n); }
void launch_copied(const float* in, float* out, int rounds) { kernels::copied<<<1, 64, 64 * 16>>>(in, out, rounds); }
void launch_late(const float4* in, float4* out) { kernels::late<<<2, 64>>>(in, out); }
void launch_shifted(const unsigned* in, int* same) { kernels::shifted<<<1, 40>>>(in, same); }
void launch_warps(const int* in, int* out) { kernels::warps<<<1, 32>>>(in, out); }
void launch_halves(const int* in, int* out) { kernels::halves<<<2, 128>>>(in, out); }
void launch_atomics(int* counts, float* sums, void* halves, unsigned long long* wide, double* exact) {
  kernels::atomics<<<4, 64>>>(counts, sums, static_cast<__half2*>(halves), wide, exact);
}
void launch_rectified(const float2* in, const unsigned* halves, unsigned* out, uint64_t* sums, int* count) {
  kernels::rectified<<<1, 32>>>(in, halves, out, sums, count);
}
}
