// Kernels that loops over threads may easily compute wrongly: once as loops or, where they are refused, as threads, and
// once as threads that wait.
#include <cstdio>
#include <memory>

#define LOW(x) (*(short*)&(x))
#define KERNEL(name) \
  __global__ void name(int* out, int n, Gen gen, Point point, float scale, long long wide)
#define BEGIN               \
  __shared__ int all[64];   \
  int t = threadIdx.x;      \
  out += blockIdx.x * 64;   \
  all[t] = t;               \
  __syncthreads()

struct Gen {
  int state;
  __device__ int next() { return state = state * 5 + 1; }
};
struct Point {
  int x, y;
};
struct Sum {
  int& total;
  __device__ void add(int v) { total += v; }
};
struct Both {
  int v;
  __device__ int get() { return v++; }
  __device__ int get() const { return v; }
};
struct Array {
  int a[4];
};
struct Counted {
  int v;
  __device__ Counted(int v) : v(v) {}
  __device__ Counted(const Counted& other) : v(other.v + 1) {}
};
struct Read {
  const int* from;
  __device__ operator int() const { return *from; }
};
__device__ int* at(int& x) { return &x; }
__device__ int* first(int* x) { return x; }
__device__ void take(int& x, int*& p) { p = &x; }
__device__ int over(int& x) { return x++; }
__device__ int over(const int& x) { return x; }
__device__ int where(int t = threadIdx.x) { return t; }
__device__ int place() { return threadIdx.x; }
__device__ int (*const alias)() = place;
using Reference = int&;
__device__ int one = 1, two = 2;
__device__ __attribute__((aligned(8))) int aligned_one;
__device__ struct {
  int x;
} whole;

KERNEL(changes_an_argument_in_a_member) {
  out += blockIdx.x * 64;
  out[threadIdx.x] = gen.next() + gen.next();
}
KERNEL(changes_an_argument_twice) {
  BEGIN;
  int v = gen.next();
  __syncthreads();
  out[t] = v + gen.next();
}
KERNEL(changes_a_copy) {
  BEGIN;
  Gen own = gen;
  int v = own.next();
  __syncthreads();
  out[t] = v + own.next();
}
KERNEL(with_the_word_struct) {
  BEGIN;
  struct Point p = {(int)threadIdx.x, n};
  __syncthreads();
  out[t] = p.x + p.y;
}
KERNEL(of_a_type_without_a_name) {
  BEGIN;
  struct { int a, b; } s = {(int)threadIdx.x, n};
  __syncthreads();
  out[t] = s.a + s.b;
}
KERNEL(of_an_enum) {
  BEGIN;
  enum E { A, B } e = threadIdx.x % 2 ? A : B;
  __syncthreads();
  out[t] = e;
}
KERNEL(of_a_union) {
  BEGIN;
  union { int i; float f; } u = {(int)threadIdx.x};
  __syncthreads();
  out[t] = u.i;
}
KERNEL(hides_what_another_is_computed_from) {
  BEGIN;
  const int w = n + 1;
  int a = t * w;
  __syncthreads();
  {
    const int w = 7;
    all[t] += w;
    __syncthreads();
    all[t] += a;
  }
  out[t] = all[t];
}
KERNEL(hides_a_parameter) {
  BEGIN;
  int a = threadIdx.x * n;
  __syncthreads();
  {
    const int n = 2;
    all[t] += n;
    __syncthreads();
    all[t] += a;
  }
  out[t] = all[t];
}
KERNEL(hides_a_variable) {
  BEGIN;
  int v = t;
  v += 1;
  __syncthreads();
  {
    const int v = 7;
    all[t] += v;
    __syncthreads();
    all[t] += v * 2;
    __syncthreads();
  }
  out[t] = all[t] + v;
}
KERNEL(declares_in_a_condition) {
  BEGIN;
  int v = t;
  v += 1;
  __syncthreads();
  if (int v = n) {
    all[t] += v;
    __syncthreads();
    all[t] += v;
  }
  out[t] = all[t] + v;
}
KERNEL(hides_a_constant_later) {
  BEGIN;
  const int w = 3;
  {
    all[t] += w;
    const int w = 5;
    __syncthreads();
    all[t] += w;
  }
  out[t] = all[t];
}
KERNEL(hides_by_shared_memory) {
  BEGIN;
  int v = t;
  v += 1;
  __syncthreads();
  {
    __shared__ int v[64];
    v[t] = 1;
    __syncthreads();
    all[t] += v[63 - t];
  }
  out[t] = all[t] + v;
}
KERNEL(binds) {
  BEGIN;
  int a = t;
  a++;
  __syncthreads();
  {
    auto [a, b] = point;
    all[t] += a;
    __syncthreads();
    all[t] += a + b;
  }
  out[t] = all[t];
}
KERNEL(asks_for_a_type) {
  BEGIN;
  int u = t;
  u++;
  __syncthreads();
  decltype(u) w = u;
  w++;
  out[t] = u + w;
}
KERNEL(reads_the_second_of_two) {
  BEGIN;
  int v = t + two;
  out[t] = v;
  __syncthreads();
  if (t == 0) two = n;
  __syncthreads();
  out[t] += v * 100 + two;
  __syncthreads();
  if (t == 0) two = 2;
}
KERNEL(reads_what_is_aligned) {
  BEGIN;
  int v = t + aligned_one;
  out[t] = v;
  __syncthreads();
  if (t == 0) aligned_one = n;
  __syncthreads();
  out[t] += v * 100 + aligned_one;
  __syncthreads();
  if (t == 0) aligned_one = 0;
}
KERNEL(reads_a_member) {
  BEGIN;
  int v = t + whole.x;
  out[t] = v;
  __syncthreads();
  if (t == 0) whole.x = n;
  __syncthreads();
  out[t] += v * 100 + whole.x;
  __syncthreads();
  if (t == 0) whole.x = 0;
}
KERNEL(shares_a_struct) {
  __shared__ struct { int x; } s;
  BEGIN;
  if (t == 0) s.x = n;
  __syncthreads();
  int v = t + s.x;
  __syncthreads();
  if (t == 0) s.x = 99;
  __syncthreads();
  out[t] = v + s.x;
}
KERNEL(points_to_one_of_two) {
  BEGIN;
  int x = t, y = n;
  x++;
  y++;
  int* p;
  p = t % 2 ? &x : &y;
  __syncthreads();
  x += 5;
  y += 7;
  __syncthreads();
  out[t] = *p;
}
KERNEL(points_by_a_function) {
  BEGIN;
  int x = t;
  x++;
  int* p = at(x);
  __syncthreads();
  x += 5;
  __syncthreads();
  out[t] = *p;
}
KERNEL(points_by_a_function_later) {
  BEGIN;
  int x = t;
  x++;
  int* p;
  p = at(x);
  __syncthreads();
  x += 5;
  __syncthreads();
  out[t] = *p;
}
KERNEL(points_to_an_array_by_a_function) {
  BEGIN;
  int x[2] = {t, n};
  int* p;
  p = first(x);
  __syncthreads();
  x[0] += 5;
  __syncthreads();
  out[t] = *p;
}
KERNEL(points_into_an_array) {
  BEGIN;
  int x[2] = {t, n};
  int* p;
  p = 1 + x;
  __syncthreads();
  x[1] += 5;
  __syncthreads();
  out[t] = *p;
}
KERNEL(points_to_one_of_two_arrays) {
  BEGIN;
  int x[2] = {t, n}, y[2] = {n, t};
  int* p;
  p = t % 2 ? x : y;
  __syncthreads();
  x[0] += 5;
  y[0] += 6;
  __syncthreads();
  out[t] = *p;
}
KERNEL(refers_by_a_member) {
  BEGIN;
  int total = 0;
  Sum acc{total};
  acc.add(t);
  __syncthreads();
  total += 1000;
  acc.add(4);
  __syncthreads();
  out[t] = total;
}
KERNEL(points_to_a_member) {
  BEGIN;
  Array s{{t, n, 0, 0}};
  int* p = s.a;
  __syncthreads();
  s.a[0] += 5;
  __syncthreads();
  out[t] = *p;
}
KERNEL(points_by_an_argument) {
  BEGIN;
  int x = t;
  x++;
  int* p;
  take(x, p);
  __syncthreads();
  x += 5;
  __syncthreads();
  out[t] = *p;
}
KERNEL(refers_by_an_alias) {
  BEGIN;
  int x = t;
  x++;
  Reference r = x;
  __syncthreads();
  x += 5;
  r += 7;
  __syncthreads();
  out[t] = x + r;
}
KERNEL(asks_for_an_address) {
  BEGIN;
  int x = n;
  int* p = std::addressof(x);
  *p += t;
  __syncthreads();
  out[t] = x;
}
KERNEL(points_by_a_cast) {
  BEGIN;
  int x = t;
  x++;
  int* p;
  p = reinterpret_cast<int*>(&x);
  __syncthreads();
  x += 5;
  __syncthreads();
  out[t] = *p;
}
KERNEL(scales_a_place) {
  out += blockIdx.x * 64;
  float x = blockIdx.x * scale + threadIdx.x;
  out[threadIdx.x] = int(x * 8);
}
KERNEL(has_wide_places) {
  out += blockIdx.x * 64;
  long long i = blockIdx.x * wide + threadIdx.x - 100;
  out[threadIdx.x] = int(i / 2);
}
KERNEL(changes_by_a_macro) {
  out += blockIdx.x * 64;
  LOW(n) += threadIdx.x;
  out[threadIdx.x] = n;
}
KERNEL(changes_by_a_cast) {
  out += blockIdx.x * 64;
  (unsigned&)n += threadIdx.x;
  out[threadIdx.x] = n;
}
KERNEL(changes_its_own_by_a_cast) {
  BEGIN;
  int x = n;
  (unsigned&)x += t;
  __syncthreads();
  out[t] = x;
}
KERNEL(counts_in_a_static) {
  BEGIN;
  static int ticket;
  if (t == 0) ticket = 0;
  __syncthreads();
  atomicAdd(&ticket, t);
  __syncthreads();
  out[t] = ticket;
}
KERNEL(allocates) {
  BEGIN;
  int* p = new int;
  *p = t;
  __syncthreads();
  out[t] = *p;
  __syncthreads();
  delete p;
}
KERNEL(waits_in_an_expression) {
  BEGIN;
  int v = t;
  all[t] = 5 * t, __syncthreads(), v = all[63 - t];
  __syncthreads();
  out[t] = v;
}
KERNEL(waits_in_a_head) {
  BEGIN;
  int v = t;
  for (int i = 0; i < 3; i++, __syncthreads()) {
    all[t] += i;
  }
  out[t] = all[63 - t] + v;
}
KERNEL(calls_an_overload) {
  BEGIN;
  int x = n;
  int s = over(x) + t;
  __syncthreads();
  s += over(x);
  __syncthreads();
  out[t] = s + x;
}
KERNEL(keeps_a_constant) {
  BEGIN;
  const Both b = {t};
  __syncthreads();
  int s = b.get();
  s += b.get();
  __syncthreads();
  out[t] = s;
}
KERNEL(calls_an_overloaded_member) {
  BEGIN;
  Both p = {n};
  Both b = p;
  __syncthreads();
  int s = b.get();
  s += b.get();
  __syncthreads();
  out[t] = s;
}
KERNEL(counts_copies) {
  BEGIN;
  Counted c(t);
  __syncthreads();
  out[t] = c.v;
}
KERNEL(asks_by_default) {
  BEGIN;
  int v = where();
  __syncthreads();
  out[t] = v;
}
KERNEL(asks_by_another_name) {
  BEGIN;
  int v = alias();
  __syncthreads();
  out[t] = v;
}
__global__ void reads_by_a_conversion(int* out, Read read, int* cell) {
  BEGIN;
  int v = t + read;
  __syncthreads();
  if (t == 0) *cell = 77;
  __syncthreads();
  out[t] = v;
}
__global__ void reads_after_a_cast(int* out, int* from, int* cell) {
  BEGIN;
  int v = t + (int)*from;
  __syncthreads();
  if (t == 0) cell[0] = 77;
  __syncthreads();
  out[t] = v;
}

template <class Kernel>
void show(const char* name, Kernel launch) {
  int* out;
  cudaMallocManaged(&out, 192 * sizeof(int));
  for (int i = 0; i < 192; i++) out[i] = -1;
  launch(out);
  cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s %s", name, cudaGetErrorString(error));
  for (int i = 0; i < 192; i++) std::printf(" %d", out[i]);
  std::printf("\n");
}
#define SHOW(name) \
  show(#name, [](int* out) { name<<<1, 64>>>(out, 5, Gen{3}, Point{4, 9}, 0.5f, 2LL); })

int main() {
  SHOW(changes_an_argument_in_a_member);
  SHOW(changes_an_argument_twice);
  SHOW(changes_a_copy);
  SHOW(with_the_word_struct);
  SHOW(of_a_type_without_a_name);
  SHOW(of_an_enum);
  SHOW(of_a_union);
  SHOW(hides_what_another_is_computed_from);
  SHOW(hides_a_parameter);
  SHOW(hides_a_variable);
  SHOW(declares_in_a_condition);
  SHOW(hides_a_constant_later);
  SHOW(hides_by_shared_memory);
  SHOW(binds);
  SHOW(asks_for_a_type);
  SHOW(reads_the_second_of_two);
  SHOW(reads_what_is_aligned);
  SHOW(reads_a_member);
  SHOW(shares_a_struct);
  SHOW(points_to_one_of_two);
  SHOW(points_by_a_function);
  SHOW(points_by_a_function_later);
  SHOW(points_to_an_array_by_a_function);
  SHOW(points_into_an_array);
  SHOW(points_to_one_of_two_arrays);
  SHOW(refers_by_a_member);
  SHOW(points_to_a_member);
  SHOW(points_by_an_argument);
  SHOW(refers_by_an_alias);
  SHOW(asks_for_an_address);
  SHOW(points_by_a_cast);
  SHOW(scales_a_place);
  SHOW(has_wide_places);
  SHOW(changes_by_a_macro);
  SHOW(changes_by_a_cast);
  SHOW(changes_its_own_by_a_cast);
  SHOW(counts_in_a_static);
  SHOW(allocates);
  SHOW(waits_in_an_expression);
  SHOW(waits_in_a_head);
  SHOW(calls_an_overload);
  SHOW(keeps_a_constant);
  SHOW(calls_an_overloaded_member);
  SHOW(counts_copies);
  SHOW(asks_by_default);
  SHOW(asks_by_another_name);
  show("by_a_conversion", [](int* out) { reads_by_a_conversion<<<1, 64>>>(out, Read{out + 128}, out + 128); });
  show("after_a_cast", [](int* out) { reads_after_a_cast<<<1, 64>>>(out, out + 128, out + 128); });
}
