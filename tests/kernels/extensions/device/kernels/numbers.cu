// Atomic operations of every type, halves, vector types and mathematics.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

template <class T>
__global__ void add_all(const T* in, T* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out, in[i]);
}

__global__ void atomics(const int* in, int* out, unsigned* wrapped, unsigned long long* wide, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicMax(out, in[i]);
  atomicMin(out + 1, in[i]);
  atomicOr(out + 2, in[i]);
  atomicAnd(out + 3, in[i]);
  atomicXor(out + 4, in[i]);
  atomicSub(out + 5, in[i]);
  atomicInc(wrapped, 9);
  atomicDec(wrapped + 1, 9);
  atomicMax(wide, static_cast<unsigned long long>(in[i]) << 32);
}

__device__ double compared_and_swapped(double* address, double value) {
  unsigned long long* bits = reinterpret_cast<unsigned long long*>(address);
  unsigned long long old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}
__global__ void add_swapping(const double* in, double* out) { compared_and_swapped(out, in[threadIdx.x]); }

__global__ void halves(const __half* in, __half* out, int n) {
  int i = threadIdx.x;
  out[i] = __hfma(in[i], in[i], __float2half(1.5f));
  out[n + i] = __float2half(__half2float(in[i]) / 3.f);
  out[2 * n + i] = hexp(in[i]);
  const __half2* pairs = reinterpret_cast<const __half2*>(in);
  if (i < n / 2) reinterpret_cast<__half2*>(out + 3 * n)[i] = __hadd2(pairs[i], __halves2half2(in[0], in[1]));
}
__global__ void brains(const __nv_bfloat16* in, __nv_bfloat16* out, int n) {
  int i = threadIdx.x;
  out[i] = __hmul(in[i], in[i]);
  out[n + i] = __float2bfloat16(__bfloat162float(in[i]) + 1.f);
}
// Towards zero, down and up, of integers and of floats.
__global__ void directed(const int* in, const float* reals, __half* out, __nv_bfloat16* brains, int n) {
  int i = threadIdx.x;
  out[i] = __int2half_rz(in[i]), out[n + i] = __int2half_rd(in[i]), out[2 * n + i] = __int2half_ru(in[i]);
  float x = reals[i];
  out[3 * n + i] = __float2half_rz(x), out[4 * n + i] = __float2half_rd(x), out[5 * n + i] = __float2half_ru(x);
  brains[i] = __int2bfloat16_rz(in[i]), brains[n + i] = __int2bfloat16_rd(in[i]);
  brains[2 * n + i] = __int2bfloat16_ru(in[i]), brains[3 * n + i] = __float2bfloat16_rz(x);
  brains[4 * n + i] = __float2bfloat16_rd(x), brains[5 * n + i] = __float2bfloat16_ru(x);
}
template <class T>
__device__ void cast(const T* in, long long* out) {
  T x = in[threadIdx.x];
  out += 9 * threadIdx.x;
  out[0] = (int)x, out[1] = (unsigned)x, out[2] = (long long)x, out[3] = static_cast<short>(x);
  out[4] = uint16_t(x), out[5] = (signed char)x, out[6] = (uint8_t)x, out[7] = (unsigned)(int)floor(x);
  out[8] = (uint64_t)x >> 1;
}
__global__ void casts(const float* in, const double* wide, long long* out, int n) {
  cast(in, out);
  cast(wide, out + 9 * n);
}
__global__ void vectors(const float4* in, float4* out) {
  float4 v = in[threadIdx.x];
  out[threadIdx.x] = make_float4(v.w, v.z, fmaxf(v.y, 0.f), min(v.x, 1.f));
}
__global__ void mathematics(const float* in, float* out, int n) {
  int i = threadIdx.x;
  float x = in[i];
  out[i] = rsqrtf(abs(x) + 1.f);
  out[n + i] = __expf(x) + __logf(fabsf(x) + 1.f);
  out[2 * n + i] = normcdff(x);
  out[3 * n + i] = __saturatef(x) + float(__float2int_rn(x));
  float s, c;
  sincosf(x, &s, &c);
  out[4 * n + i] = s * c + __int_as_float(__float_as_int(x));
  out[5 * n + i] = float(__popc(unsigned(i)) + __clz(i) + __ffs(i) + int(__brev(unsigned(i)) >> 28));
}

extern "C" {
void launch_add_float(const float* in, float* out, int n) { add_all<<<8, 64>>>(in, out, n); }
void launch_add_double(const double* in, double* out, int n) { add_all<<<8, 64>>>(in, out, n); }
void launch_add_int(const int* in, int* out, int n) { add_all<<<8, 64>>>(in, out, n); }
void launch_add_half(const __half* in, __half* out, int n) { add_all<<<8, 64>>>(in, out, n); }
void launch_atomics(const int* in, int* out, unsigned* wrapped, unsigned long long* wide, int n) {
  atomics<<<4, 64>>>(in, out, wrapped, wide, n);
}
void launch_add_swapping(const double* in, double* out) { add_swapping<<<1, 64>>>(in, out); }
void launch_halves(const __half* in, __half* out, int n) { halves<<<1, n>>>(in, out, n); }
void launch_brains(const __nv_bfloat16* in, __nv_bfloat16* out, int n) { brains<<<1, n>>>(in, out, n); }
void launch_directed(const int* in, const float* reals, __half* out, __nv_bfloat16* brains, int n) {
  directed<<<1, n>>>(in, reals, out, brains, n);
}
void launch_casts(const float* in, const double* wide, long long* out, int n) {
  casts<<<1, n>>>(in, wide, out, n);
}
void launch_vectors(const float4* in, float4* out, int n) { vectors<<<1, n>>>(in, out); }
void launch_mathematics(const float* in, float* out, int n) { mathematics<<<1, n>>>(in, out, n); }
}
