// Numbers of eight bits, of every half and from it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

template <class One, class Two, class Four>
__global__ void conversions(const __half_raw* in, unsigned char* out, float* back, int n, __nv_fp8_interpretation_t kind) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half half(in[i]);
  float x = __half2float(half);
  out[i] = __nv_cvt_halfraw_to_fp8(in[i], __NV_NOSAT, kind);
  out[n + i] = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, kind);
  out[2 * n + i] = One(half).__x;
  out[3 * n + i] = One(x).__x;
  out[4 * n + i] = Two(make_float2(0.f, x)).__x >> 8;
  out[5 * n + i] = Four(make_float4(1.f, 1.f, x, 1.f)).__x >> 16 & 255;
  One number;
  number.__x = (unsigned char)i;
  back[i] = float(number);
  back[n + i] = __half2float(__half(number));
  Two pair;
  pair.__x = (unsigned short)i;
  back[2 * n + i] = float2(pair).y;
}

extern "C" {
void launch_e4m3(const __half_raw* in, unsigned char* out, float* back, int n) {
  conversions<__nv_fp8_e4m3, __nv_fp8x2_e4m3, __nv_fp8x4_e4m3><<<n / 256, 256>>>(in, out, back, n, __NV_E4M3);
}
void launch_e5m2(const __half_raw* in, unsigned char* out, float* back, int n) {
  conversions<__nv_fp8_e5m2, __nv_fp8x2_e5m2, __nv_fp8x4_e5m2><<<n / 256, 256>>>(in, out, back, n, __NV_E5M2);
}
}
