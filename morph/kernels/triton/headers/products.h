// Products of matrices that lie in row-major order: c += a * b, in blocks that stay in registers.
#pragma once
#include "numbers.h"

#if defined(__AVX512F__)
static constexpr int kVectorBytes = 64, kBlockRows = 8;
#elif defined(__AVX__)
static constexpr int kVectorBytes = 32, kBlockRows = 4;
#else
static constexpr int kVectorBytes = 16, kBlockRows = 4;
#endif

template <class T, int Lanes>
struct Vector {
  typedef T type __attribute__((vector_size(Lanes * sizeof(T)), aligned(sizeof(T))));
};

template <class T, int Rows, int Vectors, int Lanes, int K, int N>
static inline void multiply_block(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c) {
  using V = typename Vector<T, Lanes>::type;
  V sums[Rows][Vectors];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < Vectors; ++j) sums[i][j] = *(const V*)(c + i * N + j * Lanes);
  for (int k = 0; k < K; ++k) {
    V right[Vectors];
#pragma GCC unroll 2
    for (int j = 0; j < Vectors; ++j) right[j] = *(const V*)(b + k * N + j * Lanes);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
      for (int j = 0; j < Vectors; ++j) sums[i][j] += a[i * K + k] * right[j];
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < Vectors; ++j) *(V*)(c + i * N + j * Lanes) = sums[i][j];
}

// M, N and K are powers of two.
template <class T, int M, int N, int K>
static inline void multiply(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c) {
  constexpr int kLanes = smaller_of(kVectorBytes / int(sizeof(T)), N), kVectors = smaller_of(2, N / kLanes);
  constexpr int kRows = smaller_of(kBlockRows, M);
  for (int j = 0; j < N; j += kVectors * kLanes)
    for (int i = 0; i < M; i += kRows)
      multiply_block<T, kRows, kVectors, kLanes, K, N>(a + i * K, b + j, c + i * N + j);
}
