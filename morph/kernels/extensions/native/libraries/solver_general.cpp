// cuSOLVER's eigenvalues of matrices that are not symmetric.
#include "solver.h"

#include <ATen/ops/imag.h>
#include <ATen/ops/linalg_eig.h>
#include <ATen/ops/real.h>

namespace morph_cuda::solver {
namespace {

// A real matrix's values may be told as two lines of real numbers, and of a pair of vectors the parts are two columns.
void store_values(const at::Tensor& w, void* into, c10::ScalarType type) {
  int64_t n = w.numel();
  if (c10::isComplexType(type)) return blas::store(w, into, type, n, 1);
  at::Tensor lines = memory(into, type, {2, n}, {n, 1}, true);
  lines[0].copy_(at::real(w)), lines[1].copy_(at::imag(w));
}
at::Tensor in_columns(const at::Tensor& w, const at::Tensor& vectors, bool is_real) {
  return is_real ? at::where(at::imag(w).lt(0), at::imag(vectors).neg(), at::real(vectors)) : vectors;
}

cusolverStatus_t geev(Caller by, bool has_vectors, int64_t n, Matrix a, void* w, c10::ScalarType type_w, Matrix vectors,
                      int* info) {
  bool is_valid = a.is_valid(n, n) && (!has_vectors || vectors.is_valid(n, n)) && info;
  return answered(by, is_valid, [&] {
    auto [values, found] = at::linalg_eig(a.tensor(n, n));
    store_values(values, w, type_w);
    if (has_vectors) vectors.tensor(n, n).copy_(in_columns(values, found, !c10::isComplexType(a.type)));
    tell(info, 0);
  });
}

}  // namespace
}  // namespace morph_cuda::solver

using namespace morph_cuda::solver;

extern "C" cusolverStatus_t cusolverDnXgeev(
    cusolverDnHandle_t handle, cusolverDnParams_t, cusolverEigMode_t mode_left, cusolverEigMode_t mode_right, int64_t n,
    cudaDataType type, void* a, int64_t lda, cudaDataType type_w, void* w, cudaDataType type_left, void*, int64_t,
    cudaDataType type_right, void* right, int64_t ldr, cudaDataType compute, void*, size_t, void*, size_t, int* info) {
  morph_cuda::solver::Caller by{handle, type, {type_left, type_right, compute}};
  auto values = morph_cuda::blas::torchs(type_w), own = morph_cuda::blas::torchs(type);
  by.is_supported &= mode_left == CUSOLVER_EIG_MODE_NOVECTOR;  // as in cuSOLVER
  by.is_supported = by.is_supported && (values == own || values == c10::toComplexType(own));
  return geev(by, mode_right == CUSOLVER_EIG_MODE_VECTOR, n, matrix(type, a, lda), w, values, matrix(type, right, ldr),
              info);
}
