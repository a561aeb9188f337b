// Products on tensor cores by inline PTX, each of one warp, with matrices loaded as public kernels load them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstdint>

namespace {

__device__ unsigned address(const void* shared) { return static_cast<unsigned>(__cvta_generic_to_shared(shared)); }

// A (16, 16) and B (16, 8) by ldmatrix: A row by row, B's columns out of its rows.
__global__ void halves(const __half* a, const __half* b, float* out) {
  __shared__ __half left[16][16], right[16][8];
  int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) left[i / 16][i % 16] = a[i];
  for (int i = lane; i < 128; i += 32) right[i / 8][i % 8] = b[i];
  __syncwarp();
  unsigned x[4], y[2];
  float c[4] = {1, 1, 1, 1};
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(address(&left[lane % 16][lane / 16 * 8])));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(y[0]), "=r"(y[1])
               : "r"(address(&right[lane % 16][0])));
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  for (int i = 0; i < 4; i++) out[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = c[i];
}

// Fragments that the host laid out: registers of A, B and C, a lane's side by side.
#define A(n) "r"(a[lane * 4 + n])
#define B(n) "r"(b[lane * 2 + n])
#define C(n) "+r"(c[lane * 4 + n])
#define KERNEL(NAME, TEXT, OUTPUTS, ...)                                  \
  __global__ void NAME(const unsigned* a, const unsigned* b, unsigned* c) { \
    int lane = threadIdx.x;                                               \
    asm volatile(TEXT : OUTPUTS : __VA_ARGS__);                           \
  }
#define HALF C(0), C(1)
#define FOUR C(0), C(1), C(2), C(3)
#define LARGE(SHAPE, TYPES)                                                                                \
  "mma.sync.aligned." SHAPE ".row.col." TYPES " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
#define SMALL(SHAPE, TYPES) \
  "mma.sync.aligned." SHAPE ".row.col." TYPES " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
#define ALL_OF_LARGE A(0), A(1), A(2), A(3), B(0), B(1)
#define ALL_OF_SMALL A(0), A(1), B(0)

KERNEL(bfloat16, LARGE("m16n8k16", "f32.bf16.bf16.f32"), FOUR, ALL_OF_LARGE)
KERNEL(bfloat16_small, SMALL("m16n8k8", "f32.bf16.bf16.f32"), FOUR, ALL_OF_SMALL)
KERNEL(tf32, LARGE("m16n8k8", "f32.tf32.tf32.f32"), FOUR, ALL_OF_LARGE)
KERNEL(int8, LARGE("m16n8k32", "s32.s8.s8.s32"), FOUR, ALL_OF_LARGE)
KERNEL(mixed8, SMALL("m16n8k16", "s32.u8.s8.s32"), FOUR, ALL_OF_SMALL)
KERNEL(int4, LARGE("m16n8k64", "s32.s4.s4.s32"), FOUR, ALL_OF_LARGE)
KERNEL(float8, LARGE("m16n8k32", "f32.e4m3.e5m2.f32"), FOUR, ALL_OF_LARGE)
KERNEL(float16, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};",
       HALF, ALL_OF_LARGE)

using Kernel = void (*)(const unsigned*, const unsigned*, unsigned*);
const Kernel kernels[] = {bfloat16, bfloat16_small, tf32, int8, mixed8, int4, float16, float8};

__global__ void doubles(const double* a, const double* b, double* c) {
  double* mine = c + threadIdx.x * 2;
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(mine[0]), "+d"(mine[1])
               : "d"(a[threadIdx.x]), "d"(b[threadIdx.x]));
}

// Two matrices of 8 by 8 out of shared memory and back, the second turned around.
__global__ void stored(const __half* in, __half* out) {
  __shared__ __half from[2][8][8], to[2][8][8];
  int lane = threadIdx.x;
  unsigned x, y;
  for (int i = lane; i < 128; i += 32) from[i / 64][i / 8 % 8][i % 8] = in[i];
  __syncwarp();
  unsigned source = address(&from[lane / 8 % 2][lane % 8][0]), target = address(&to[lane / 8 % 2][lane % 8][0]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "r"(source));
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(target), "r"(x));
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(address(&to[1][lane % 8][0])), "r"(y));
  __syncwarp();
  for (int i = lane; i < 128; i += 32) out[i] = to[i / 64][i / 8 % 8][i % 8];
}

// A lane's word is two elements of a row, lane by lane.
__global__ void turned(const unsigned* in, unsigned* out) {
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(out[threadIdx.x]) : "r"(in[threadIdx.x]));
}

// By the functions of wmma: A row by row, B and the result in both orders, half of the sum added.
template <class T, class Sum, int m, int n, int k>
__global__ void fragments_of(const T* a, const T* b, Sum* out) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, m, n, k, T, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, m, n, k, T, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, m, n, k, Sum> sum, whole;
  wmma::fill_fragment(sum, 0);
  wmma::load_matrix_sync(left, a, k);
  wmma::load_matrix_sync(right, b, k);
  wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(out, sum, m, wmma::mem_col_major);
  wmma::load_matrix_sync(whole, out, m, wmma::mem_col_major);
  for (int i = 0; i < whole.num_elements; i++) whole.x[i] = Sum(float(whole.x[i]) * 2.f);
  wmma::mma_sync(whole, left, right, whole);
  wmma::store_matrix_sync(out, whole, n, wmma::mem_row_major);
}

}  // namespace

extern "C" {
void launch_wmma(int which, const void* a, const void* b, void* out) {
  auto half = [=](const void* x) { return static_cast<const __half*>(x); };
  auto byte = [=](const void* x) { return static_cast<const signed char*>(x); };
  if (which == 0) fragments_of<__half, float, 16, 16, 16><<<1, 32>>>(half(a), half(b), static_cast<float*>(out));
  if (which == 1) fragments_of<__half, __half, 8, 32, 16><<<1, 32>>>(half(a), half(b), static_cast<__half*>(out));
  if (which == 2) fragments_of<signed char, int, 32, 8, 16><<<1, 32>>>(byte(a), byte(b), static_cast<int*>(out));
}
void launch_stored(const __half* in, __half* out) { stored<<<1, 32>>>(in, out); }
void launch_turned(const unsigned* in, unsigned* out) { turned<<<1, 32>>>(in, out); }
void launch_halves(const __half* a, const __half* b, float* out) { halves<<<1, 32>>>(a, b, out); }
void launch_fragments(int which, const unsigned* a, const unsigned* b, unsigned* c) { kernels[which]<<<1, 32>>>(a, b, c); }
void launch_doubles(const double* a, const double* b, double* c) { doubles<<<1, 32>>>(a, b, c); }
}
