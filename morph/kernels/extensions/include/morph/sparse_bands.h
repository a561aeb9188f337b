// cuSPARSE's systems of three and five diagonals.
#pragma once

#include "morph/sparse.h"

#define MORPH_DIAGONALS(T) const T *lower, const T *diagonal, const T *upper
#define MORPH_OWN(T) T *lower, T *diagonal, T *upper
#define MORPH_BANDED(NAME, SIZES, WORK)                                                   \
  cusparseStatus_t NAME##_bufferSizeExt(cusparseHandle_t handle, SIZES, size_t* bytes);   \
  cusparseStatus_t NAME(cusparseHandle_t handle, WORK, void* buffer);
#define MORPH_ARGUMENTS(...) __VA_ARGS__
#define MORPH_OF_TYPE(L, T)                                                                                         \
  MORPH_BANDED(cusparse##L##gtsv2, MORPH_ARGUMENTS(int m, int n, MORPH_DIAGONALS(T), const T* b, int ldb),          \
               MORPH_ARGUMENTS(int m, int n, MORPH_DIAGONALS(T), T* b, int ldb))                                    \
  MORPH_BANDED(cusparse##L##gtsv2_nopivot, MORPH_ARGUMENTS(int m, int n, MORPH_DIAGONALS(T), const T* b, int ldb),  \
               MORPH_ARGUMENTS(int m, int n, MORPH_DIAGONALS(T), T* b, int ldb))                                    \
  MORPH_BANDED(cusparse##L##gtsv2StridedBatch,                                                                      \
               MORPH_ARGUMENTS(int m, MORPH_DIAGONALS(T), const T* x, int batch, int stride),                       \
               MORPH_ARGUMENTS(int m, MORPH_DIAGONALS(T), T* x, int batch, int stride))                             \
  MORPH_BANDED(cusparse##L##gtsvInterleavedBatch,                                                                   \
               MORPH_ARGUMENTS(int algorithm, int m, MORPH_DIAGONALS(T), const T* x, int batch),                    \
               MORPH_ARGUMENTS(int algorithm, int m, MORPH_OWN(T), T* x, int batch))                                \
  MORPH_BANDED(cusparse##L##gpsvInterleavedBatch,                                                                   \
               MORPH_ARGUMENTS(int algorithm, int m, const T* second_lower, MORPH_DIAGONALS(T),                     \
                               const T* second_upper, const T* x, int batch),                                       \
               MORPH_ARGUMENTS(int algorithm, int m, T* second_lower, MORPH_OWN(T), T* second_upper, T* x, int batch))

extern "C" {
MORPH_OF_TYPE(S, float)
MORPH_OF_TYPE(D, double)
MORPH_OF_TYPE(C, cuComplex)
MORPH_OF_TYPE(Z, cuDoubleComplex)
}
#undef MORPH_DIAGONALS
#undef MORPH_OWN
#undef MORPH_BANDED
#undef MORPH_ARGUMENTS
#undef MORPH_OF_TYPE
