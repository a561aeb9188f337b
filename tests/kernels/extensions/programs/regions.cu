// Kernels of many shapes, whose results are printed: once as loops over threads, once as threads that wait.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

__device__ int total;
__device__ void bump(int& n) { n += 3; }
__device__ int place() { return threadIdx.x; }

__global__ void changes_its_arguments(int* out, int n) {
  out += blockIdx.x * blockDim.x;
  n -= threadIdx.x;
  out[threadIdx.x] = n;
}
__global__ void changes_before_a_barrier(int* out, int n) {
  __shared__ int all[64];
  n += threadIdx.x;
  all[threadIdx.x] = n;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = all[63 - threadIdx.x] + n;
}
__global__ void changes_by_reference(int* out, int n) {
  __shared__ int all[64];
  int own = 5;
  bump(own);
  all[threadIdx.x] = own + threadIdx.x;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = all[63 - threadIdx.x] + own + n;
}
__global__ void changes_an_argument_by_reference(int* out, int n) {
  __shared__ int all[64];
  bump(n);
  all[threadIdx.x] = n;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = all[63 - threadIdx.x] + n;
}
__global__ void keeps_an_array(int* out, int n) {
  __shared__ int all[64];
  int own[4], sum = 0;
  for (int i = 0; i < 4; i++) own[i] = i * threadIdx.x + n;
  for (int round = 0; round < 4; round++) {
    all[threadIdx.x] = own[round];
    __syncthreads();
    sum += all[(threadIdx.x + round) % 64];
    own[(round + 1) % 4] += sum;
    __syncthreads();
  }
  out[blockIdx.x * 64 + threadIdx.x] = sum;
}
__global__ void under_a_condition(int* out, int n) {
  __shared__ int all[64];
  const int t = threadIdx.x;
  all[t] = t * n;
  if (n > 3) {
    __syncthreads();
    if (t < 32) all[t] += all[t + 32];
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[blockIdx.x * 64 + t] = all[t % 32];
}
__global__ void differs_in_rounds(int* out, int n) {
  __shared__ int all[64];
  all[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n * 64; i += 64) {
    all[threadIdx.x] += i;
    __syncthreads();
  }
  out[blockIdx.x * 64 + threadIdx.x] = all[threadIdx.x];
}
__global__ void ends_early(int* out, int n) {
  __shared__ int all[64];
  all[threadIdx.x] = n;
  __syncthreads();
  if (threadIdx.x % 2) return;
  out[blockIdx.x * 64 + threadIdx.x] = all[threadIdx.x + 1];
}
__global__ void ends_before_a_barrier(int* out, int n) {
  __shared__ int all[64];
  if (threadIdx.x >= 50) return;
  all[threadIdx.x] = n + threadIdx.x;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = all[49 - threadIdx.x];
}
__global__ void asks_in_a_function(int* out, int n) { out[blockIdx.x * 64 + place()] = place() * n; }
template <int width, class T = int>
__global__ void of_a_template(T* out, T n) {
  __shared__ T tile[width][width + 1];
  int x = blockIdx.x * width + threadIdx.x % width, y = threadIdx.x / width;
  tile[y][threadIdx.x % width] = x * n + y;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x % width][y];
}
__global__ void reads_what_changes(int* out, int n) {
  if (threadIdx.x == 0) total = n;
  __syncthreads();
  int before = total;
  __syncthreads();
  if (threadIdx.x == 0) total = 2 * n;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = before + total;
}
__global__ void with_dynamic_memory(int* out, int n) {
  extern __shared__ int some[];
  int* more = some + blockDim.x;
  some[threadIdx.x] = n, more[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = some[63 - threadIdx.x] + more[63 - threadIdx.x];
}
__global__ void __launch_bounds__(64) in_three_directions(int* out, int n) {
  __shared__ int all[4][4][4];
  all[threadIdx.z][threadIdx.y][threadIdx.x] = n * (threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z);
  __syncthreads();
  int i = (threadIdx.z * 4 + threadIdx.y) * 4 + threadIdx.x;
  out[blockIdx.x * 64 + i] = all[threadIdx.x][threadIdx.z][threadIdx.y];
}
__global__ void counts(int* out, int n) {
  for (int i = threadIdx.x; i < 640; i += blockDim.x) atomicAdd(&out[i % 7], i % 3 ? n : 0);
}
__global__ void wraps_around(int* out, int n) {
  unsigned i = blockIdx.x * 3000000000u + threadIdx.x;
  out[blockIdx.x * 64 + threadIdx.x] = i % 1000 + n;
}
__global__ void scales(float* x, int n) {  // of a block each, without a barrier
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  x[i] = 2 * x[i] + i;
}
__global__ void points_to_its_own(int* out, int n) {
  __shared__ int all[64];
  int own[3] = {n, n + 1, int(threadIdx.x)};
  int* p = own;
  all[threadIdx.x] = p[2];
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = p[1] + all[63 - threadIdx.x] + own[2];
}
__global__ void points_later(int* out, int n) {
  __shared__ int all[64];
  int own = n * threadIdx.x, *p = out;
  all[threadIdx.x] = own;
  p = &own;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = *p + all[63 - threadIdx.x];
}
__global__ void captures(int* out, int n) {
  __shared__ int all[64];
  int own = n * threadIdx.x;
  auto add = [&](int v) { return own + v; };
  all[threadIdx.x] = add(1);
  own++;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = add(all[63 - threadIdx.x]);
}
__global__ void reads_a_shared_variable(int* out, int n) {
  __shared__ int first, second;
  if (threadIdx.x == 0) first = n, second = 2 * n;
  __syncthreads();
  int seen = second;
  for (int i = 0; i < second; i++) {
    __syncthreads();
    if (threadIdx.x == 0 && i == n) second = n;
    __syncthreads();
  }
  out[blockIdx.x * 64 + threadIdx.x] = seen + second + first;
}
__global__ void casts(int* out, int n) {
  __shared__ int all[64];
  float large = 1e10f * (threadIdx.x % 2 ? 1 : -1);
  all[threadIdx.x] = (int)large;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = all[63 - threadIdx.x] + int(large / n);
}
__global__ void reinterprets(int* out, int n) {
  __shared__ int all[64];
  int bits = 0;
  *(short*)&bits = threadIdx.x + n;
  all[threadIdx.x] = bits;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = all[63 - threadIdx.x] + bits;
}
__global__ void reinterprets_an_argument(int* out, int n) {
  *(short*)&n += threadIdx.x;
  out[blockIdx.x * 64 + threadIdx.x] = n;
}
template <int step>
__device__ int drawn(int* from) { return atomicAdd(from, step); }
__global__ void draws(int* out, int n) {
  __syncthreads();
  int ticket = drawn<3>(out + 100);
  __syncthreads();
  atomicAdd(out, ticket * n);
}
__global__ void divides(int* out, int n) {
  __syncthreads();
  if (n == 0) return;
  int each = 64 / n;
  out[threadIdx.x] = each;
}
__global__ void shadowed(int* out, int n) { out[threadIdx.x] = n; }
__global__ void other(int* out, int n) { out[threadIdx.x] = -n; }
namespace inner {
__global__ void named(int* out, int n) {
  __shared__ int all[64];
  int column = threadIdx.x, row = threadIdx.x * n;
  all[column] = row;
  __syncthreads();
  column = 63 - column, row += column;
  out[blockIdx.x * 64 + threadIdx.x] = all[column] - row;
}
}  // namespace inner

template <class Launch>
void show(const char* name, Launch launch) {
  int* out;
  cudaMallocManaged(&out, 192 * sizeof(int));
  for (int i = 0; i < 192; i++) out[i] = -1;
  launch(out);
  cudaError_t error = cudaDeviceSynchronize();
  unsigned sum = 0;
  for (int i = 0; i < 192; i++) sum = sum * 31 + unsigned(out[i]);
  std::printf("%s %s %u %d %d %d\n", name, cudaGetErrorString(error), sum, out[0], out[1], out[191]);
}

int main() {
  show("changes_its_arguments", [](int* out) { changes_its_arguments<<<3, 64>>>(out, 5); });
  show("changes_before_a_barrier", [](int* out) { changes_before_a_barrier<<<3, 64>>>(out, 5); });
  show("changes_by_reference", [](int* out) { changes_by_reference<<<3, 64>>>(out, 5); });
  show("changes_an_argument_by_reference", [](int* out) { changes_an_argument_by_reference<<<3, 64>>>(out, 5); });
  show("keeps_an_array", [](int* out) { keeps_an_array<<<3, 64>>>(out, 5); });
  show("under_a_condition", [](int* out) { under_a_condition<<<3, 64>>>(out, 5); });
  show("under_the_other", [](int* out) { under_a_condition<<<3, 64>>>(out, 2); });
  show("differs_in_rounds", [](int* out) { differs_in_rounds<<<3, 64>>>(out, 5); });
  show("ends_early", [](int* out) { ends_early<<<3, 64>>>(out, 5); });
  show("ends_before_a_barrier", [](int* out) { ends_before_a_barrier<<<3, 64>>>(out, 5); });
  show("asks_in_a_function", [](int* out) { asks_in_a_function<<<3, 64>>>(out, 5); });
  show("of_a_template", [](int* out) { of_a_template<8><<<3, 64>>>(out, 5); });
  show("reads_what_changes", [](int* out) { reads_what_changes<<<1, 64>>>(out, 5); });
  show("with_dynamic_memory", [](int* out) { with_dynamic_memory<<<3, 64, 512>>>(out, 5); });
  show("in_three_directions", [](int* out) { in_three_directions<<<3, dim3(4, 4, 4)>>>(out, 5); });
  show("counts", [](int* out) { counts<<<3, 64>>>(out, 5); });
  show("wraps_around", [](int* out) { wraps_around<<<3, 64>>>(out, 5); });
  show("scales", [](int* out) { scales<<<4, 64>>>(reinterpret_cast<float*>(out), 190); });
  show("points_to_its_own", [](int* out) { points_to_its_own<<<3, 64>>>(out, 5); });
  show("points_later", [](int* out) { points_later<<<3, 64>>>(out, 5); });
  show("captures", [](int* out) { captures<<<3, 64>>>(out, 5); });
  show("reads_a_shared_variable", [](int* out) { reads_a_shared_variable<<<3, 64>>>(out, 5); });
  show("casts", [](int* out) { casts<<<3, 64>>>(out, 5); });
  show("reinterprets", [](int* out) { reinterprets<<<3, 64>>>(out, 5); });
  show("reinterprets_an_argument", [](int* out) { reinterprets_an_argument<<<3, 64>>>(out, 5); });
  show("draws", [](int* out) { draws<<<1, 64>>>(out, 5); });
  show("divides", [](int* out) { divides<<<1, 64>>>(out, 0); });
  show("by_a_pointer", [](int* out) {
    auto shadowed = &other;
    shadowed<<<1, 64>>>(out, 5);
  });
  show("named", [](int* out) { inner::named<<<3, 64>>>(out, 5); });
}
