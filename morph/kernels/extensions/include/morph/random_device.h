// cuRAND's functions of kernels: numbers of each distribution, from any of its generators.
#pragma once

#include "morph/math.h"
#include "morph/random_states.h"

namespace morph_cuda {

template <class State, class Result>
using of_state = std::enable_if_t<std::is_same_v<State, curandStatePhilox4_32_10> ||
                                      std::is_same_v<State, curandStateXORWOW> || std::is_same_v<State, curandStateMRG32k3a>,
                                  Result>;

constexpr float kUnit = 1.f / 4294967296.f;        // 2^-32
constexpr double kWideUnit = 1. / 9007199254740992.;  // 2^-53
constexpr double kMrgUnit = 2.328306549295728e-10;

inline float uniform(unsigned x) { return float(x) * kUnit + kUnit / 2; }
inline double wide_uniform(unsigned x, unsigned y) {
  uint64_t bits = uint64_t(x) ^ uint64_t(y) << 21;
  return double(bits) * kWideUnit + kWideUnit / 2;
}
inline float2 normals(float u, float angle) {
  float size = std::sqrt(-2.f * std::log(u));
  return {std::sin(angle) * size, std::cos(angle) * size};
}
inline float2 normals(unsigned x, unsigned y) {
  constexpr float kTurn = kUnit * 6.2831855f;
  return normals(uniform(x), float(y) * kTurn + kTurn / 2);
}
inline double2 wide_normals(double u, double half_turns) {
  double size = std::sqrt(-2 * std::log(u));
  return {sinpi(half_turns) * size, cospi(half_turns) * size};
}
inline double2 wide_normals(uint4 x) { return wide_normals(wide_uniform(x.x, x.y), 2 * wide_uniform(x.z, x.w)); }

}  // namespace morph_cuda

inline float curand_uniform(curandStatePhilox4_32_10_t* state) { return morph_cuda::uniform(curand(state)); }
inline float curand_uniform(curandStateXORWOW_t* state) { return morph_cuda::uniform(curand(state)); }
inline double curand_uniform_double(curandStatePhilox4_32_10_t* state) {
  return double(curand(state)) * double(morph_cuda::kUnit) + double(morph_cuda::kUnit) / 2;
}
inline double curand_uniform_double(curandStateXORWOW_t* state) {
  unsigned x = curand(state), y = curand(state);
  return morph_cuda::wide_uniform(x, y);
}
inline double curand_uniform_double(curandStateMRG32k3a_t* state) {
  return morph_cuda::next_mrg32k3a(state) * morph_cuda::kMrgUnit;
}
inline float curand_uniform(curandStateMRG32k3a_t* state) { return float(curand_uniform_double(state)); }
inline float4 curand_uniform4(curandStatePhilox4_32_10_t* state) {
  uint4 x = curand4(state);
  return {morph_cuda::uniform(x.x), morph_cuda::uniform(x.y), morph_cuda::uniform(x.z), morph_cuda::uniform(x.w)};
}
inline double2 curand_uniform2_double(curandStatePhilox4_32_10_t* state) {
  uint4 x = curand4(state);
  return {morph_cuda::wide_uniform(x.x, x.y), morph_cuda::wide_uniform(x.z, x.w)};
}
inline double4 curand_uniform4_double(curandStatePhilox4_32_10_t* state) {
  double2 first = curand_uniform2_double(state), second = curand_uniform2_double(state);
  return {first.x, first.y, second.x, second.y};
}

template <class State>
inline morph_cuda::of_state<State, float2> curand_normal2(State* state) {
  if constexpr (std::is_same_v<State, curandStateMRG32k3a>) {
    float u = curand_uniform(state);
    return morph_cuda::normals(u, curand_uniform(state) * 6.2831855f);
  } else {
    unsigned x = curand(state), y = curand(state);
    return morph_cuda::normals(x, y);
  }
}
template <class State>
inline morph_cuda::of_state<State, double2> curand_normal2_double(State* state) {
  if constexpr (std::is_same_v<State, curandStateMRG32k3a>) {
    double u = curand_uniform_double(state);
    return morph_cuda::wide_normals(u, curand_uniform_double(state) * 2);
  } else {
    unsigned x = curand(state), y = curand(state), z = curand(state), w = curand(state);
    return morph_cuda::wide_normals(uint4{x, y, z, w});
  }
}
namespace morph_cuda {

enum Kept { kNothing, kNormal, kLogNormal };  // which distribution the second number of a pair is of

template <class T, class Draw>
T one_of_a_pair(Kept distribution, int& kept, T& second, Draw draw) {
  if (kept == distribution) return kept = kNothing, second;
  auto pair = draw();
  kept = distribution, second = pair.y;
  return pair.x;
}

}  // namespace morph_cuda

template <class State>
inline morph_cuda::of_state<State, float> curand_normal(State* state) {
  return morph_cuda::one_of_a_pair(morph_cuda::kNormal, state->boxmuller_flag, state->boxmuller_extra,
                                   [=] { return curand_normal2(state); });
}
template <class State>
inline morph_cuda::of_state<State, double> curand_normal_double(State* state) {
  return morph_cuda::one_of_a_pair(morph_cuda::kNormal, state->boxmuller_flag_double, state->boxmuller_extra_double,
                                   [=] { return curand_normal2_double(state); });
}
inline float4 curand_normal4(curandStatePhilox4_32_10_t* state) {
  uint4 x = curand4(state);
  float2 first = morph_cuda::normals(x.x, x.y), second = morph_cuda::normals(x.z, x.w);
  return {first.x, first.y, second.x, second.y};
}
inline double4 curand_normal4_double(curandStatePhilox4_32_10_t* state) {
  double2 first = curand_normal2_double(state), second = curand_normal2_double(state);
  return {first.x, first.y, second.x, second.y};
}

template <class State>
inline morph_cuda::of_state<State, float2> curand_log_normal2(State* state, float mean, float deviation) {
  float2 x = curand_normal2(state);
  return {std::exp(mean + deviation * x.x), std::exp(mean + deviation * x.y)};
}
template <class State>
inline morph_cuda::of_state<State, double2> curand_log_normal2_double(State* state, double mean, double deviation) {
  double2 x = curand_normal2_double(state);
  return {std::exp(mean + deviation * x.x), std::exp(mean + deviation * x.y)};
}
template <class State>
inline morph_cuda::of_state<State, float> curand_log_normal(State* state, float mean, float deviation) {
  return morph_cuda::one_of_a_pair(morph_cuda::kLogNormal, state->boxmuller_flag, state->boxmuller_extra,
                                   [=] { return curand_log_normal2(state, mean, deviation); });
}
template <class State>
inline morph_cuda::of_state<State, double> curand_log_normal_double(State* state, double mean, double deviation) {
  return morph_cuda::one_of_a_pair(morph_cuda::kLogNormal, state->boxmuller_flag_double, state->boxmuller_extra_double,
                                   [=] { return curand_log_normal2_double(state, mean, deviation); });
}
inline float4 curand_log_normal4(curandStatePhilox4_32_10_t* state, float mean, float deviation) {
  float4 x = curand_normal4(state);
  auto of = [=](float each) { return std::exp(mean + deviation * each); };
  return {of(x.x), of(x.y), of(x.z), of(x.w)};
}

namespace morph_cuda {

template <class Uniform>
unsigned small_poisson(double mean, Uniform draw) {  // by the times between events
  double left = std::exp(-mean), product = draw();
  unsigned events = 0;
  for (; product > left; events++) product *= draw();
  return events;
}

// Hoermann, "The transformed rejection method for generating Poisson random variables" (1993), PTRS.
template <class Uniform>
unsigned large_poisson(double mean, Uniform draw) {
  double b = 0.931 + 2.53 * std::sqrt(mean), a = -0.059 + 0.02483 * b;
  double scale = 1.1239 + 1.1328 / (b - 3.4), sure = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    double u = draw() - 0.5, v = draw(), edge = 0.5 - std::fabs(u);
    double k = std::floor((2 * a / edge + b) * u + mean + 0.43);
    if (edge >= 0.07 && v <= sure) return unsigned(k);
    if (k < 0 || (edge < 0.013 && v > edge)) continue;
    double accepted = k * std::log(mean) - mean - std::lgamma(k + 1);
    if (std::log(v) + std::log(scale) - std::log(a / (edge * edge) + b) <= accepted) return unsigned(k);
  }
}

}  // namespace morph_cuda

template <class State>
inline morph_cuda::of_state<State, unsigned> curand_poisson(State* state, double mean) {
  auto draw = [state] { return curand_uniform_double(state); };
  return mean < 64 ? morph_cuda::small_poisson(mean, draw) : morph_cuda::large_poisson(mean, draw);
}
inline uint4 curand_poisson4(curandStatePhilox4_32_10_t* state, double mean) {
  unsigned x = curand_poisson(state, mean), y = curand_poisson(state, mean), z = curand_poisson(state, mean);
  return {x, y, z, curand_poisson(state, mean)};
}
