// cuSPARSE's systems of three and five diagonals, by LU.
#include "morph/sparse_bands.h"
#include "sparse.h"
#include "sparse_factors.h"

namespace morph_cuda::sparse {
namespace {

template <class T>
struct Systems {  // their diagonals from the lowest on; `step` lies between two numbers of one, `stride` between two
  std::vector<const T*> diagonals;
  int64_t m, batch, step, stride;

  std::vector<Torchs<T>> read(const T* data) const {
    at::Tensor all = memory(data, kTypeOf<T>, {m}, {step}).contiguous();
    return {all.const_data_ptr<Torchs<T>>(), all.const_data_ptr<Torchs<T>>() + m};
  }
  solver::LowerUpper<Torchs<T>> factors(int64_t of_batch, solver::Real<Torchs<T>> threshold) const {
    std::vector<std::vector<Torchs<T>>> bands;
    for (const T* each : diagonals) bands.push_back(read(each + of_batch * stride));
    solver::Rows<Torchs<T>> a{m};
    int64_t first = -int64_t(bands.size() / 2);
    for (int64_t i = 0; i < m; i++, a.end_row())
      for (size_t k = 0; k < bands.size(); k++)
        if (int64_t column = i + first + int64_t(k); column >= 0 && column < m) a.add(column, bands[k][i]);
    solver::LowerUpper<Torchs<T>> made(a, threshold);
    TORCH_CHECK(made.is_complete(), "system ", of_batch, " is singular");
    return made;
  }
  void solve(const solver::LowerUpper<Torchs<T>>& by, T* x) const {
    std::vector<Torchs<T>> found = by.solve(read(x));
    memory(x, kTypeOf<T>, {m}, {step}, true).copy_(at::from_blob(found.data(), {m}, at::dtype(kTypeOf<T>)));
  }
};

template <class T>
cusparseStatus_t solve(Caller by, Systems<T> of, int64_t columns, T* b, int64_t leading, bool is_pivoted) {
  bool is_valid = of.m >= 3 && columns >= 0 && leading >= of.m && b;
  for (const T* each : of.diagonals) is_valid &= each != nullptr;
  return answered(by, is_valid, [&] {
    auto factors = of.factors(0, is_pivoted);
    for (int64_t i = 0; i < columns; i++) of.solve(factors, b + i * leading);
  });
}

template <class T>
cusparseStatus_t solve_batch(Caller by, Systems<T> of, T* x, bool is_valid) {
  is_valid &= of.batch >= 0 && x != nullptr;
  for (const T* each : of.diagonals) is_valid &= each != nullptr;
  return answered(by, is_valid, [&] {
    for (int64_t i = 0; i < of.batch; i++) of.solve(of.factors(i, 1), x + i * of.stride);
  });
}

}  // namespace
}  // namespace morph_cuda::sparse

using namespace morph_cuda::sparse;

#define MORPH_HANDLE cusparseHandle_t handle
#define MORPH_DIAGONALS(T) const T *lower, const T *diagonal, const T *upper
#define MORPH_SIZED(NAME, ...)                                                                  \
  cusparseStatus_t NAME##_bufferSizeExt(MORPH_HANDLE, __VA_ARGS__, size_t* bytes) {             \
    return sized(handle, CUSPARSE_STATUS_SUCCESS, bytes);                                       \
  }
#define MORPH_GTSV2(NAME, T, IS_PIVOTED)                                                                            \
  MORPH_SIZED(NAME, int, int, MORPH_DIAGONALS(T), const T*, int)                                                    \
  cusparseStatus_t NAME(MORPH_HANDLE, int m, int n, MORPH_DIAGONALS(T), T* b, int ldb, void*) {                     \
    return solve<T>(handle, {{lower, diagonal, upper}, m, 1, 1, 0}, n, b, ldb, IS_PIVOTED);                         \
  }
#define MORPH_OF_TYPE(L, T)                                                                                         \
  MORPH_GTSV2(cusparse##L##gtsv2, T, true)                                                                          \
  MORPH_GTSV2(cusparse##L##gtsv2_nopivot, T, false)                                                                 \
  MORPH_SIZED(cusparse##L##gtsv2StridedBatch, int, MORPH_DIAGONALS(T), const T*, int, int)                          \
  cusparseStatus_t cusparse##L##gtsv2StridedBatch(MORPH_HANDLE, int m, MORPH_DIAGONALS(T), T* x, int batch,         \
                                                  int stride, void*) {                                              \
    return solve_batch<T>(handle, {{lower, diagonal, upper}, m, batch, 1, stride}, x, m >= 3 && stride >= m);       \
  }                                                                                                                 \
  MORPH_SIZED(cusparse##L##gtsvInterleavedBatch, int, int, MORPH_DIAGONALS(T), const T*, int)                       \
  cusparseStatus_t cusparse##L##gtsvInterleavedBatch(MORPH_HANDLE, int algorithm, int m, T* lower, T* diagonal,     \
                                                     T* upper, T* x, int batch, void*) {                            \
    return solve_batch<T>(handle, {{lower, diagonal, upper}, m, batch, batch, 1}, x,                                \
                          algorithm >= 0 && algorithm <= 2 && m >= 1);                                              \
  }                                                                                                                 \
  MORPH_SIZED(cusparse##L##gpsvInterleavedBatch, int, int, const T*, MORPH_DIAGONALS(T), const T*, const T*, int)   \
  cusparseStatus_t cusparse##L##gpsvInterleavedBatch(MORPH_HANDLE, int algorithm, int m, T* second_lower, T* lower, \
                                                     T* diagonal, T* upper, T* second_upper, T* x, int batch,       \
                                                     void*) {                                                       \
    return solve_batch<T>(handle, {{second_lower, lower, diagonal, upper, second_upper}, m, batch, batch, 1}, x,    \
                          algorithm == 0 && m >= 1);                                                                \
  }

extern "C" {
MORPH_OF_TYPE(S, float)
MORPH_OF_TYPE(D, double)
MORPH_OF_TYPE(C, cuComplex)
MORPH_OF_TYPE(Z, cuDoubleComplex)
}
#undef MORPH_HANDLE
#undef MORPH_DIAGONALS
#undef MORPH_SIZED
#undef MORPH_GTSV2
#undef MORPH_OF_TYPE
