// cuSOLVER's singular values. Each way to compute them is LAPACK's here.
#include "solver.h"

#include <ATen/ops/linalg_svd.h>
#include <ATen/ops/linalg_svdvals.h>

namespace morph_cuda::solver {
namespace {

// Of a batch, and how far its members are apart.
struct Values {
  void* data;
  int64_t count, stride;
};
struct Vectors {
  Matrix matrix;
  int64_t columns, stride;

  bool is_valid(int64_t rows) const { return columns == 0 || matrix.is_valid(rows, columns); }
  void store(const at::Tensor& found) const {
    int64_t rows = found.size(1);
    if (columns) matrix.tensors(found.size(0), stride, rows, columns).copy_(found.narrow(2, 0, columns));
  }
};
Vectors first_of(Matrix matrix, int64_t columns) { return {matrix, columns, matrix.leading * columns}; }

// Each matrix's distance from the product of what is kept.
std::vector<double> residuals_of(const at::Tensor& a, const at::Tensor& u, const at::Tensor& s, const at::Tensor& vh) {
  int64_t k = s.size(1);
  at::Tensor product = u.narrow(2, 0, k).mul(s.unsqueeze(1)).matmul(vh.narrow(1, 0, k));
  at::Tensor norms = a.sub(product).flatten(1).abs().to(at::kDouble).norm(2, {1}).contiguous();
  return {norms.const_data_ptr<double>(), norms.const_data_ptr<double>() + norms.numel()};
}

// Returns the residuals.
std::vector<double> decompose(const at::Tensor& a, Values s, Vectors u, Vectors v) {
  int64_t few = std::min(a.size(1), a.size(2)), batch = a.size(0);
  auto [left, values, right] = at::linalg_svd(a, u.columns > few || v.columns > few);
  at::Tensor kept = values.narrow(1, 0, s.count);
  std::vector<double> residuals = residuals_of(a, left, kept, right);
  memory(s.data, values.scalar_type(), {batch, s.count}, {s.stride, 1}, true).copy_(kept);
  u.store(left), v.store(right.mH());
  return residuals;
}

// What is written where gesvd keeps a side's vectors: the first columns of U, the first rows of V^H.
void keep(signed char job, const Matrix& into, const at::Tensor& a, const at::Tensor& vectors) {
  if (job == 'A' || job == 'S') into.tensor(vectors.size(0), vectors.size(1)).copy_(vectors);
  if (job == 'O') a.narrow(0, 0, vectors.size(0)).copy_(vectors);
}
bool is_job(signed char job) { return job == 'A' || job == 'S' || job == 'O' || job == 'N'; }
bool is_kept(signed char job) { return job == 'A' || job == 'S'; }

cusolverStatus_t gesvd(Caller by, signed char job_u, signed char job_v, int64_t m, int64_t n, Matrix a, void* s,
                       Matrix u, Matrix vh, int* info) {
  bool is_valid = is_job(job_u) && is_job(job_v) && (job_u != 'O' || job_v != 'O') && m >= n && a.is_valid(m, n) &&
                  (!is_kept(job_u) || u.is_valid(m, n)) && (!is_kept(job_v) || vh.is_valid(n, n)) && n >= 0 && info;
  return answered(by, is_valid, [&] {
    at::Tensor matrix = a.tensor(m, n);
    auto [left, values, right] = at::linalg_svd(matrix, job_u == 'A');
    keep(job_u, u, matrix, left), keep(job_v, vh, matrix, right);
    blas::store(values, s, values.scalar_type(), n, 1);
    tell(info, 0);
  });
}

cusolverStatus_t gesvdj(Caller by, cusolverEigMode_t mode, bool is_economic, int64_t m, int64_t n, Matrix a, void* s,
                        Matrix u, Matrix v, int* info, gesvdjInfo_t params) {
  int64_t few = std::min(m, n), has = mode == CUSOLVER_EIG_MODE_VECTOR;
  Vectors left = first_of(u, has * (is_economic ? few : m)), right = first_of(v, has * (is_economic ? few : n));
  bool is_valid = is_mode(mode) && n >= 0 && a.is_valid(m, n) && left.is_valid(m) && right.is_valid(n) && info;
  return answered(by, is_valid && params, [&] {
    params->residual = decompose(packed(a, 1, m, n), {s, few, few}, left, right)[0];
    tell(info, 0);
  });
}

cusolverStatus_t gesvdj_batch(Caller by, cusolverEigMode_t mode, int64_t m, int64_t n, Matrix a, void* s, Matrix u,
                              Matrix v, int* infos, gesvdjInfo_t params, int64_t batch) {
  int64_t few = std::min(m, n), has = mode == CUSOLVER_EIG_MODE_VECTOR;
  Vectors left = first_of(u, has * m), right = first_of(v, has * n);
  bool is_valid = is_mode(mode) && n >= 0 && m <= 32 && n <= 32 && a.is_valid(m, n) && left.is_valid(m) &&
                  right.is_valid(n) && infos && params && batch > 0;
  return answered(by, is_valid, [&] {
    decompose(packed(a, batch, m, n), {s, few, few}, left, right);
    params->residual.reset();
    tell_success(infos, batch);
  });
}

cusolverStatus_t gesvda(Caller by, cusolverEigMode_t mode, int64_t m, int64_t n, Matrix a, int64_t stride, Values s,
                        Vectors u, Vectors v, int* infos, double* residuals, int64_t batch) {
  if (mode == CUSOLVER_EIG_MODE_NOVECTOR) u.columns = v.columns = 0;
  bool is_valid = is_mode(mode) && n >= 0 && a.is_valid(m, n) && s.count >= 1 && s.count <= std::min(m, n) &&
                  s.stride >= s.count && u.is_valid(m) && v.is_valid(n) && infos && batch > 0;
  return answered(by, is_valid, [&] {
    std::vector<double> found = decompose(a.tensors(batch, stride, m, n), s, u, v);
    if (residuals) std::copy(found.begin(), found.end(), residuals);
    tell_success(infos, batch);
  });
}

// The randomized way's first values, which are exact here.
cusolverStatus_t gesvdr(Caller by, signed char job_u, signed char job_v, int64_t m, int64_t n, int64_t rank,
                        int64_t more, Matrix a, void* s, Matrix u, Matrix v, int* info) {
  Vectors left = first_of(u, job_u == 'S' ? rank : 0), right = first_of(v, job_v == 'S' ? rank : 0);
  bool are_jobs = (job_u == 'S' || job_u == 'N') && (job_v == 'S' || job_v == 'N');
  bool is_rank = rank >= 1 && more >= 0 && rank + more <= std::min(m, n);
  bool is_valid = are_jobs && is_rank && a.is_valid(m, n) && left.is_valid(m) && right.is_valid(n) && info;
  return answered(by, is_valid, [&] {
    decompose(packed(a, 1, m, n), {s, rank, rank}, left, right);
    tell(info, 0);
  });
}

}  // namespace
}  // namespace morph_cuda::solver

using namespace morph_cuda::solver;

#define MORPH_HANDLE cusolverDnHandle_t handle
#define MORPH_VALUES(T, R) T* a, int lda, R* s, T* u, int ldu, T* v, int ldv
#define MORPH_EVERY(L, T, R)                                                                                          \
  cusolverStatus_t cusolverDn##L##gesvd(MORPH_HANDLE, signed char job_u, signed char job_v, int m, int n,              \
                                        MORPH_VALUES(T, R), T*, int, R*, int* info) {                                  \
    return gesvd(handle, job_u, job_v, m, n, matrix(a, lda), s, matrix(u, ldu), matrix(v, ldv), info);                 \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##L##gesvdj(MORPH_HANDLE, cusolverEigMode_t mode, int is_economic, int m, int n,          \
                                         MORPH_VALUES(T, R), T*, int, int* info, gesvdjInfo_t params) {                \
    return gesvdj(handle, mode, is_economic, m, n, matrix(a, lda), s, matrix(u, ldu), matrix(v, ldv), info, params);   \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##L##gesvdjBatched(MORPH_HANDLE, cusolverEigMode_t mode, int m, int n,                    \
                                                MORPH_VALUES(T, R), T*, int, int* infos, gesvdjInfo_t params,          \
                                                int batch) {                                                           \
    return gesvdj_batch(handle, mode, m, n, matrix(a, lda), s, matrix(u, ldu), matrix(v, ldv), infos, params, batch);  \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##L##gesvdaStridedBatched(                                                                \
      MORPH_HANDLE, cusolverEigMode_t mode, int rank, int m, int n, const T* a, int lda, long long stride_a, R* s,     \
      long long stride_s, T* u, int ldu, long long stride_u, T* v, int ldv, long long stride_v, T*, int, int* infos,   \
      double* residuals, int batch) {                                                                                  \
    return gesvda(handle, mode, m, n, matrix(a, lda), stride_a, {s, rank, stride_s}, {matrix(u, ldu), rank, stride_u}, \
                  {matrix(v, ldv), rank, stride_v}, infos, residuals, batch);                                          \
  }
#define MORPH_ANY(X) cudaDataType type_##X, void* X
#define MORPH_WIDE_VALUES MORPH_ANY(a), int64_t lda, MORPH_ANY(s), MORPH_ANY(u), int64_t ldu, MORPH_ANY(v), int64_t ldv
#define MORPH_WORK cudaDataType compute, void*, size_t, void*, size_t, int* info

extern "C" {
MORPH_EVERY(S, float, float)
MORPH_EVERY(D, double, double)
MORPH_EVERY(C, cuComplex, float)
MORPH_EVERY(Z, cuDoubleComplex, double)

cusolverStatus_t cusolverDnXgesvd(MORPH_HANDLE, cusolverDnParams_t, signed char job_u, signed char job_v, int64_t m,
                                  int64_t n, MORPH_WIDE_VALUES, MORPH_WORK) {
  return gesvd({handle, type_a, {type_u, type_v, compute}, {type_s}}, job_u, job_v, m, n, matrix(type_a, a, lda), s,
               matrix(type_a, u, ldu), matrix(type_a, v, ldv), info);
}
cusolverStatus_t cusolverDnXgesvdp(MORPH_HANDLE, cusolverDnParams_t, cusolverEigMode_t mode, int is_economic, int64_t m,
                                   int64_t n, MORPH_WIDE_VALUES, MORPH_WORK, double* error) {
  gesvdjInfo unused;
  if (error) *error = 0;
  return gesvdj({handle, type_a, {type_u, type_v, compute}, {type_s}}, mode, is_economic, m, n, matrix(type_a, a, lda),
                s, matrix(type_a, u, ldu), matrix(type_a, v, ldv), info, &unused);
}
cusolverStatus_t cusolverDnXgesvdr(MORPH_HANDLE, cusolverDnParams_t, signed char job_u, signed char job_v, int64_t m,
                                   int64_t n, int64_t rank, int64_t more, int64_t, MORPH_WIDE_VALUES, MORPH_WORK) {
  return gesvdr({handle, type_a, {type_u, type_v, compute}, {type_s}}, job_u, job_v, m, n, rank, more,
                matrix(type_a, a, lda), s, matrix(type_a, u, ldu), matrix(type_a, v, ldv), info);
}
}
#undef MORPH_HANDLE
#undef MORPH_VALUES
#undef MORPH_EVERY
#undef MORPH_ANY
#undef MORPH_WIDE_VALUES
#undef MORPH_WORK
