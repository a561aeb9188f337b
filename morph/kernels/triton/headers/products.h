// Products of matrices that lie in row-major order: c += a * b, in blocks that stay in registers.
#pragma once
#include "numbers.h"

template <class T, int Rows, int Columns, int Inner, int K, int N>
static inline void multiply_block(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c) {
  T sums[Rows][Columns];
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < Columns; ++j) sums[i][j] = c[i * N + j];
  for (int k = 0; k < Inner; ++k)
    for (int i = 0; i < Rows; ++i) {
      T factor = a[i * K + k];
      for (int j = 0; j < Columns; ++j) sums[i][j] += factor * b[k * N + j];
    }
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < Columns; ++j) c[i * N + j] = sums[i][j];
}

template <class T, int M, int N, int K>
static inline void multiply(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c) {
  constexpr int kColumns = N % 16 == 0 ? 16 : N, kRows = M % 4 == 0 ? 4 : 1;
  for (int j = 0; j < N; j += kColumns)
    for (int i = 0; i < M; i += kRows)
      multiply_block<T, kRows, kColumns, K, K, N>(a + i * K, b + j, c + i * N + j);
}
