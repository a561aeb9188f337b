// Random numbers in kernels and from the host.
#include <c10/util/Exception.h>  // which the next one needs

#include <ATen/core/PhiloxRNGEngine.h>
#include <curand.h>
#include <curand_kernel.h>

// Each thread is a subsequence; n numbers of it.
template <class State>
__global__ void raw(unsigned long long seed, unsigned long long offset, unsigned* out, int n) {
  State state;
  curand_init(seed, threadIdx.x, offset, &state);
  for (int i = 0; i < n; i++) out[threadIdx.x * n + i] = curand(&state);
}
__global__ void torchs(unsigned long long seed, unsigned long long offset, unsigned* out, int n) {
  at::Philox4_32 engine(seed, threadIdx.x, offset / 4);
  for (int i = 0; i < int(offset % 4); i++) engine();
  for (int i = 0; i < n; i++) out[threadIdx.x * n + i] = engine();
}
__global__ void by_fours(unsigned long long seed, unsigned long long offset, uint4* out, int n) {
  curandStatePhilox4_32_10_t state;
  curand_init(seed, threadIdx.x, offset, &state);
  for (int i = 0; i < n / 4; i++) out[threadIdx.x * n / 4 + i] = curand4(&state);
}
__global__ void block(const uint4* counters, const uint2* keys, uint4* out) {
  out[threadIdx.x] = curand_Philox4x32_10(counters[threadIdx.x], keys[threadIdx.x]);
}
// The same place by one skip, and by several shorter ones.
__global__ void skips(unsigned* out) {
  curandStateXORWOW_t x, other_x;
  curandStateMRG32k3a_t m, other_m;
  curandStatePhilox4_32_10_t p, other_p;
  curand_init(7, 1, 0, &x), curand_init(7, 0, 0, &other_x);
  curand_init(7, 1, 0, &m), curand_init(7, 0, 0, &other_m);
  curand_init(7, 1, 5, &p), curand_init(7, 0, 0, &other_p);
  for (int i = 0; i < 16; i++) skipahead(1ull << 63, &other_x);              // 2^67
  for (int i = 0; i < 8192; i++) skipahead(1ull << 63, &other_m);           // 2^76
  for (int i = 0; i < 8; i++) skipahead(1ull << 63, &other_p);              // 2^66
  skipahead(5, &other_p);
  out[0] = curand(&x), out[1] = curand(&other_x), out[2] = curand(&m), out[3] = curand(&other_m);
  out[4] = curand(&p), out[5] = curand(&other_p);
}
template <class State>
__global__ void distributions(float* uniform, float* normal, float* log_normal, double* wide, double* wide_normal,
                              unsigned* few, unsigned* many, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  State state;
  curand_init(1234, i, 0, &state);
  uniform[i] = curand_uniform(&state);
  normal[i] = curand_normal(&state);
  log_normal[i] = curand_log_normal(&state, 0.5f, 0.25f);
  wide[i] = curand_uniform_double(&state);
  wide_normal[i] = curand_normal_double(&state);
  few[i] = curand_poisson(&state, 3.0);
  many[i] = curand_poisson(&state, 200.0);
}
__global__ void vectors(float4* out) {
  curandStatePhilox4_32_10_t state;
  curand_init(99, threadIdx.x, 0, &state);
  out[2 * threadIdx.x] = curand_uniform4(&state);
  out[2 * threadIdx.x + 1] = curand_normal4(&state);
}

// The second number of a pair is kept for the same distribution only.
__global__ void alternating(float4* out) {
  curandStatePhilox4_32_10_t state;
  curand_init(99, threadIdx.x, 0, &state);
  float4& numbers = out[threadIdx.x];
  numbers.x = curand_normal(&state), numbers.y = curand_log_normal(&state, 0.f, 1.f);
  numbers.z = curand_log_normal(&state, 0.f, 1.f), numbers.w = curand_normal(&state);
}

extern "C" {
void draw_philox(int seed, int offset, unsigned* out, int n) { raw<curandStatePhilox4_32_10_t><<<1, 4>>>(seed, offset, out, n); }
void draw_xorwow(int seed, int offset, unsigned* out, int n) { raw<curandState><<<1, 4>>>(seed, offset, out, n); }
void draw_mrg32k3a(int seed, int offset, unsigned* out, int n) { raw<curandStateMRG32k3a_t><<<1, 4>>>(seed, offset, out, n); }
void draw_torchs(int seed, int offset, unsigned* out, int n) { torchs<<<1, 4>>>(seed, offset, out, n); }
void draw_fours(int seed, int offset, unsigned* out, int n) { by_fours<<<1, 4>>>(seed, offset, reinterpret_cast<uint4*>(out), n); }
void draw_block(const uint4* counters, const uint2* keys, uint4* out, int n) { block<<<1, n>>>(counters, keys, out); }
void draw_skips(unsigned* out) { skips<<<1, 1>>>(out); }
void draw_vectors(float4* out) { vectors<<<1, 16>>>(out); }
void draw_alternating(float4* out) { alternating<<<1, 4>>>(out); }
void draw_all(int kind, float* uniform, float* normal, float* log_normal, double* wide, double* wide_normal, unsigned* few,
              unsigned* many, int n) {
  auto kernel = kind == 0   ? distributions<curandStatePhilox4_32_10_t>
                : kind == 1 ? distributions<curandStateXORWOW_t>
                            : distributions<curandStateMRG32k3a_t>;
  kernel<<<(n + 63) / 64, 64>>>(uniform, normal, log_normal, wide, wide_normal, few, many, n);
}
int generate(int seed, int offset, float* uniform, float* normal, double* wide, unsigned* bits, unsigned* counts, int n) {
  curandGenerator_t generator;
  int status = curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT);
  status |= curandSetPseudoRandomGeneratorSeed(generator, seed) | curandSetGeneratorOffset(generator, offset);
  status |= curandGenerate(generator, bits, n / 2) | curandGenerate(generator, bits + n / 2, n / 2);
  status |= curandGenerateUniform(generator, uniform, n) | curandGenerateNormal(generator, normal, n, 2.f, 0.5f);
  status |= curandGenerateUniformDouble(generator, wide, n) | curandGeneratePoisson(generator, counts, n, 10);
  return status | curandDestroyGenerator(generator);
}
int generate_quasi() {
  curandGenerator_t generator;
  return curandCreateGenerator(&generator, CURAND_RNG_QUASI_SOBOL32);
}
}
