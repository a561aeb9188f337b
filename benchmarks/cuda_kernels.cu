// Kernels, and loops of C++ on the same data, which `benchmarks.cuda_kernels` compiles with OpenMP.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

constexpr int kSide = 2048, kCount = kSide * kSide;

__global__ void scale_and_add(const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) y[i] = 2 * x[i] + y[i];
}
void scale_and_add_loop(const float* x, float* y) {
#pragma omp parallel for simd
  for (int i = 0; i < kCount; i++) y[i] = 2 * x[i] + y[i];
}

__global__ void transpose(const float* x, float* y) {  // one barrier
  __shared__ float tile[32][33];
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = x[(row + j) * kSide + column];
  __syncthreads();
  column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) y[(row + j) * kSide + column] = tile[threadIdx.x][threadIdx.y + j];
}
void transpose_loop(const float* x, float* y) {
#pragma omp parallel for collapse(2)
  for (int rows = 0; rows < kSide; rows += 32)
    for (int columns = 0; columns < kSide; columns += 32)
      for (int i = 0; i < 32; i++)
        for (int j = 0; j < 32; j++) y[(columns + i) * kSide + rows + j] = x[(rows + j) * kSide + columns + i];
}

__global__ void sums(const float* x, float* y) {  // nine barriers
  __shared__ float all[256];
  int t = threadIdx.x;
  all[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  for (int by = 128; by; by /= 2) {
    if (t < by) all[t] += all[t + by];
    __syncthreads();
  }
  if (!t) y[blockIdx.x] = all[0];
}
__global__ void sums_of_warps(const float* x, float* y) {  // five shuffles
  int i = blockIdx.x * 256 + threadIdx.x;
  float sum = x[i];
  for (int by = 16; by; by /= 2) sum += __shfl_down_sync(0xffffffffu, sum, by);
  if (i % 32 == 0) y[i / 32] = sum;
}
template <int width>
void sums_loop(const float* x, float* y) {
#pragma omp parallel for
  for (int i = 0; i < kCount / width; i++) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int j = 0; j < width; j++) sum += x[i * width + j];
    y[i] = sum;
  }
}
void sums_by_halves_loop(const float* x, float* y) {  // the kernel's own algorithm
#pragma omp parallel for
  for (int i = 0; i < kCount / 256; i++) {
    float all[256];
    std::copy_n(x + i * 256, 256, all);
    for (int by = 128; by; by /= 2)
      for (int j = 0; j < by; j++) all[j] += all[j + by];
    y[i] = all[0];
  }
}

template <class Work>
double seconds(Work work) {
  double least = 1e9;
  for (int i = 0; i < 10; i++) {
    auto began = std::chrono::steady_clock::now();
    work();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  return least;
}
template <class Kernel, class Loop>
void compare(const char* name, Kernel kernel, Loop loop) {
  double threads = seconds(kernel), plain = seconds(loop);
  std::printf("%-22s %8.2f ms %8.2f ms %8.1fx\n", name, 1e3 * threads, 1e3 * plain, threads / plain);
}

int main() {
  float *x, *y;
  cudaMalloc(&x, kCount * sizeof(float));
  cudaMalloc(&y, kCount * sizeof(float));
  cudaMemset(x, 0, kCount * sizeof(float));
  cudaMemset(y, 0, kCount * sizeof(float));
  dim3 tiles(kSide / 32, kSide / 32);
  compare("2 x + y", [=] { scale_and_add<<<kCount / 256, 256>>>(x, y); }, [=] { scale_and_add_loop(x, y); });
  compare("transpose", [=] { transpose<<<tiles, dim3(32, 8)>>>(x, y); }, [=] { transpose_loop(x, y); });
  compare("sums, by barriers", [=] { sums<<<kCount / 256, 256>>>(x, y); }, [=] { sums_loop<256>(x, y); });
  compare("the same, by halves", [=] { sums<<<kCount / 256, 256>>>(x, y); }, [=] { sums_by_halves_loop(x, y); });
  compare("sums, by shuffles", [=] { sums_of_warps<<<kCount / 256, 256>>>(x, y); }, [=] { sums_loop<32>(x, y); });
}
