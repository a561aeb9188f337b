// cuRAND's functions of the host, and how its generators skip numbers.
#include "morph/random_device.h"
#include "numbers.h"

#include <array>

struct curandGenerator_st {
  unsigned long long seed = 0, offset = 0;
  cudaStream_t stream = nullptr;
  curandStatePhilox4_32_10_t state;

  curandGenerator_st() { restart(); }
  void restart() { curand_init(seed, 0, offset, &state); }
};

namespace morph_cuda {
namespace {

// The transitions of a generator: item k moves it by two to the power of k numbers.
template <class Transition, size_t N>
std::array<Transition, N>* doubled(const Transition& one) {
  auto* all = new std::array<Transition, N>;
  (*all)[0] = one;
  for (size_t k = 1; k < N; k++) (*all)[k] = (*all)[k - 1].twice();
  return all;
}

struct Xorwow {  // a linear map of 160 bits: the images of each
  using Bits = std::array<unsigned, 5>;
  std::array<Bits, 160> images;

  Bits operator()(const Bits& from) const {
    Bits to{};
    for (unsigned i = 0; i < 160; i++)
      if (from[i / 32] >> i % 32 & 1)
        for (size_t word = 0; word < 5; word++) to[word] ^= images[i][word];
    return to;
  }
  Xorwow twice() const {
    Xorwow both;
    for (size_t i = 0; i < 160; i++) both.images[i] = (*this)(images[i]);
    return both;
  }
  static Xorwow once() {
    Xorwow one;
    for (unsigned i = 0; i < 160; i++) {
      curandStateXORWOW_t state{};
      state.v[i / 32] = 1u << i % 32;
      curand(&state);
      std::copy_n(state.v, 5, one.images[i].begin());
    }
    return one;
  }
};

struct Recurrence {  // of one part of MRG32k3a: a matrix, by rows
  uint64_t modulus;
  std::array<std::array<uint64_t, 3>, 3> rows;

  std::array<uint64_t, 3> operator()(const std::array<uint64_t, 3>& from) const {
    std::array<uint64_t, 3> to{};
    for (size_t i = 0; i < 3; i++)
      for (size_t j = 0; j < 3; j++) to[i] = (to[i] + rows[i][j] * from[j] % modulus) % modulus;
    return to;
  }
  Recurrence twice() const {
    Recurrence both{modulus, {}};
    for (size_t j = 0; j < 3; j++) {
      auto column = (*this)({rows[0][j], rows[1][j], rows[2][j]});
      for (size_t i = 0; i < 3; i++) both.rows[i][j] = column[i];
    }
    return both;
  }
};

void skip(const std::array<Recurrence, 192>& all, unsigned* state, uint64_t n, int doublings) {
  std::array<uint64_t, 3> moved{state[0], state[1], state[2]};
  for (size_t k = size_t(doublings); n; k++, n >>= 1)
    if (n & 1) moved = all[k](moved);
  for (size_t i = 0; i < 3; i++) state[i] = unsigned(moved[i]);
}

}  // namespace

void skip_xorwow(unsigned* v, unsigned long long n, int doublings) {
  if (!n) return;
  static const auto& all = *doubled<Xorwow, 131>(Xorwow::once());
  Xorwow::Bits moved{v[0], v[1], v[2], v[3], v[4]};
  for (size_t k = size_t(doublings); n; k++, n >>= 1)
    if (n & 1) moved = all[k](moved);
  std::copy(moved.begin(), moved.end(), v);
}

void skip_mrg32k3a(unsigned* s1, unsigned* s2, unsigned long long n, int doublings) {
  if (!n) return;
  constexpr uint64_t kFirst = 4294967087, kSecond = 4294944443;
  static const auto& first = *doubled<Recurrence, 192>({kFirst, {{{0, 1, 0}, {0, 0, 1}, {kFirst - 810728, 1403580, 0}}}});
  static const auto& second = *doubled<Recurrence, 192>({kSecond, {{{0, 1, 0}, {0, 0, 1}, {kSecond - 1370589, 0, 527612}}}});
  skip(first, s1, n, doublings);
  skip(second, s2, n, doublings);
}

namespace {

curandStatus_t create(curandGenerator_t* generator, curandRngType_t type) {
  switch (type) {
    case CURAND_RNG_PSEUDO_DEFAULT: case CURAND_RNG_PSEUDO_XORWOW: case CURAND_RNG_PSEUDO_MRG32K3A:
    case CURAND_RNG_PSEUDO_MTGP32: case CURAND_RNG_PSEUDO_MT19937: case CURAND_RNG_PSEUDO_PHILOX4_32_10:
      return *generator = new curandGenerator_st, CURAND_STATUS_SUCCESS;
    default:
      TORCH_WARN("the software device has no quasi-random generator (cuRAND's type ", int(type), ")");
      return CURAND_STATUS_TYPE_ERROR;
  }
}

// The numbers do not depend on how many are asked for at a time, where each takes the same number of draws.
template <class T, class F>
curandStatus_t fill(curandGenerator_t generator, T* out, size_t n, F draw, const char* name = __builtin_FUNCTION()) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  Statuses statuses{CURAND_STATUS_ALLOCATION_FAILED, CURAND_STATUS_LAUNCH_FAILURE};
  return curandStatus_t(status_of(name, generator->stream, statuses, [&] {
    used(out, n, true);
    for (size_t i = 0; i < n; i++) out[i] = draw(&generator->state);
  }));
}

template <class T, class F>
curandStatus_t fill_pairs(curandGenerator_t generator, T* out, size_t n, F draw,
                          const char* name = __builtin_FUNCTION()) {
  return n % 2 ? CURAND_STATUS_LENGTH_NOT_MULTIPLE : fill(generator, out, n, draw, name);
}

}  // namespace
}  // namespace morph_cuda

using namespace morph_cuda;
using State = curandStatePhilox4_32_10_t;

extern "C" {

curandStatus_t curandGetVersion(int* version) {
  if (!version) return CURAND_STATUS_OUT_OF_RANGE;
  return *version = CURAND_VERSION, CURAND_STATUS_SUCCESS;
}
curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type) { return create(generator, type); }
curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t type) { return create(generator, type); }
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  return delete generator, CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  return generator->stream = stream, CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  return generator->seed = seed, generator->restart(), CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  return generator->offset = offset, generator->restart(), CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t ordering) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  return ordering == CURAND_ORDERING_QUASI_DEFAULT ? CURAND_STATUS_OUT_OF_RANGE : CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
  return generator ? CURAND_STATUS_SUCCESS : CURAND_STATUS_NOT_INITIALIZED;
}
curandStatus_t curandGenerate(curandGenerator_t generator, unsigned* out, size_t n) {
  return fill(generator, out, n, [](State* state) { return curand(state); });
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* out, size_t n) {
  return fill(generator, out, n, [](State* state) { return curand_uniform(state); });
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* out, size_t n) {
  return fill(generator, out, n, [](State* state) {
    unsigned x = curand(state), y = curand(state);
    return wide_uniform(x, y);
  });
}
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* out, size_t n, float mean, float deviation) {
  return fill_pairs(generator, out, n, [=](State* state) { return mean + deviation * curand_normal(state); });
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* out, size_t n, double mean, double deviation) {
  return fill_pairs(generator, out, n, [=](State* state) { return mean + deviation * curand_normal_double(state); });
}
curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* out, size_t n, float mean, float deviation) {
  return fill_pairs(generator, out, n, [=](State* state) { return curand_log_normal(state, mean, deviation); });
}
curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double* out, size_t n, double mean, double deviation) {
  return fill_pairs(generator, out, n, [=](State* state) { return curand_log_normal_double(state, mean, deviation); });
}
curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned* out, size_t n, double mean) {
  if (!(mean > 0)) return CURAND_STATUS_OUT_OF_RANGE;
  return fill(generator, out, n, [=](State* state) { return curand_poisson(state, mean); });
}
}
