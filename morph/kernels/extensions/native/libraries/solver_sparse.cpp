// cuSOLVER's solvers of sparse systems, in one call each.
#include "solver_sparse.h"

namespace morph_cuda::solver {
namespace {

template <class T>
struct System {
  Csr<T> a;
  const T* b;
  Real<Torchs<T>> tolerance;
  int reorder;
  T* x;
  int* singularity;

  cusolverStatus_t checked() const { return a.checked(b && x && singularity && reorder >= 0 && reorder <= 3); }
};

// What is singular by its tolerance is told, and solved where no pivot is 0.
template <template <class> class Factors, class T>
cusolverStatus_t solve(SparseCaller by, System<T> of) {
  return answered(by, of.checked(), [&] {
    using S = Torchs<T>;
    Rows<S> a = of.a.read();
    if (std::is_same_v<Factors<S>, Cholesky<S>>) a = mirrored(a);  // of which an order may need the other triangle
    std::vector<int64_t> order = of.reorder ? cuthill_mckee(a.columns, a.offsets, a.at) : in_order(a.columns);
    Factors<S> factors(of.reorder ? permuted(a, order, order) : a);
    *used(of.singularity, 1, true) = int(factors.first_small(std::max<Real<S>>(of.tolerance, 0)));
    if (!factors.is_complete()) return;
    std::vector<S> b = numbers_of(of.b, a.columns), right, x(b.size());
    for (int64_t row : order) right.push_back(b[row]);
    right = factors.solve(std::move(right));
    for (size_t i = 0; i < order.size(); i++) x[order[i]] = right[i];
    store(x, of.x);
  });
}

template <class T>
cusolverStatus_t least_squares(SparseCaller by, Csr<T> a, const T* b, Real<Torchs<T>> tolerance, int* rank, T* x,
                               int* p, Real<Torchs<T>>* residual) {
  return answered(by, a.checked(a.rows >= a.columns && b && rank && x && p && residual), [&] {
    Orthogonal<Torchs<T>> factors(a.read());
    auto [columns, found] = factors.reduce(std::max<Real<Torchs<T>>>(tolerance, 0));
    *rank = int(found);
    std::copy(columns.begin(), columns.end(), used(p, columns.size(), true));
    store(factors.solve(numbers_of(b, a.rows), residual), x);
  });
}

template <class T>
cusolverStatus_t solve_batch(SparseCaller by, Csr<T> a, const T* b, T* x, int64_t batch, csrqrInfo_t info) {
  return answered(by, a.checked(a.rows >= a.columns && b && x && batch > 0 && info), [&] {
    for (int64_t i = 0; i < batch; i++) {
      Orthogonal<Torchs<T>> factors(a.read(i));
      TORCH_CHECK(factors.is_complete(), "matrix ", i, " of the batch is singular");
      store(factors.solve(numbers_of(b + i * a.rows, a.rows)), x + i * a.columns);
    }
  });
}

template <class S>
S product(const std::vector<S>& x, const std::vector<S>& y) {
  S sum(0);
  for (size_t i = 0; i < x.size(); i++) sum += conjugated(x[i]) * y[i];
  return sum;
}

// Inverse iteration: the eigenvalue that is the nearest to `near`, unless `x` has nothing of its vector.
template <class S>
S nearest(const Rows<S>& a, S near, std::vector<S>& x, int iterations, Real<S> tolerance) {
  Orthogonal<S> factors(shifted(a, near));
  S value = near;
  for (int i = 0; i < iterations && factors.is_complete(); i++) {
    Real<S> length = std::sqrt(std::real(product(x, x)));
    for (S& each : x) each /= length;
    std::vector<S> next = factors.solve(x);
    S grown = product(x, next);
    value = near + S(1) / grown;
    Real<S> rest = 0, all = std::sqrt(std::real(product(next, next)));
    for (size_t k = 0; k < x.size(); k++) rest += std::norm(next[k] - grown * x[k]);
    x = std::move(next);
    for (S& each : x) each /= all;
    if (std::sqrt(rest) <= tolerance * all) break;
  }
  TORCH_CHECK(factors.is_complete(), "the shifted matrix is singular: the start is an eigenvalue");
  return value;
}

template <class T>
cusolverStatus_t eigenvalue(SparseCaller by, Csr<T> a, T near, const T* start, int iterations,
                            Real<Torchs<T>> tolerance, T* value, T* x) {
  return answered(by, a.checked(start && value && x && iterations >= 0), [&] {
    std::vector<Torchs<T>> vector = numbers_of(start, a.rows);
    auto shift = numbers_of(&near, 1)[0];
    store<T>({nearest(a.read(), shift, vector, iterations, tolerance)}, value);
    store(vector, x);
  });
}

}  // namespace
}  // namespace morph_cuda::solver

using namespace morph_cuda::solver;

#define MORPH_HANDLE cusolverSpHandle_t handle
#define MORPH_CSR(T) const cusparseMatDescr_t descr, const T *values, const int *offsets, const int *columns
#define MORPH_SQUARE {n, n, nnz, descr, values, offsets, columns}
#define MORPH_SOLVES(NAME, T, R, FACTORS)                                                                          \
  cusolverStatus_t NAME(MORPH_HANDLE, int n, int nnz, MORPH_CSR(T), const T* b, R tolerance, int reorder, T* x,    \
                        int* singularity) {                                                                        \
    return solve<FACTORS, T>(handle, {MORPH_SQUARE, b, tolerance, reorder, x, singularity});                       \
  }
#define MORPH_EIGEN(NAME, T, R)                                                                                    \
  cusolverStatus_t NAME(MORPH_HANDLE, int n, int nnz, MORPH_CSR(T), T near, const T* start, int iterations,        \
                        R tolerance, T* value, T* x) {                                                             \
    return eigenvalue<T>(handle, MORPH_SQUARE, near, start, iterations, tolerance, value, x);                      \
  }
#define MORPH_EVERY(L, T, R)                                                                                       \
  MORPH_SOLVES(cusolverSp##L##csrlsvqr, T, R, Orthogonal)                                                          \
  MORPH_SOLVES(cusolverSp##L##csrlsvqrHost, T, R, Orthogonal)                                                      \
  MORPH_SOLVES(cusolverSp##L##csrlsvchol, T, R, Cholesky)                                                          \
  MORPH_SOLVES(cusolverSp##L##csrlsvcholHost, T, R, Cholesky)                                                      \
  MORPH_SOLVES(cusolverSp##L##csrlsvluHost, T, R, LowerUpper)                                                      \
  MORPH_EIGEN(cusolverSp##L##csreigvsi, T, R)                                                                      \
  MORPH_EIGEN(cusolverSp##L##csreigvsiHost, T, R)                                                                  \
  cusolverStatus_t cusolverSp##L##csrlsqvqrHost(MORPH_HANDLE, int m, int n, int nnz, MORPH_CSR(T), const T* b,     \
                                                R tolerance, int* rank, T* x, int* p, R* residual) {               \
    return least_squares<T>(handle, {m, n, nnz, descr, values, offsets, columns}, b, tolerance, rank, x, p,        \
                            residual);                                                                             \
  }                                                                                                                \
  cusolverStatus_t cusolverSp##L##csrqrBufferInfoBatched(MORPH_HANDLE, int, int, int, MORPH_CSR(T), int batch,     \
                                                         csrqrInfo_t info, size_t* internal, size_t* workspace) {  \
    return sized(handle, descr && offsets && columns && batch > 0 && info, internal, workspace);                   \
  }                                                                                                                \
  cusolverStatus_t cusolverSp##L##csrqrsvBatched(MORPH_HANDLE, int m, int n, int nnz, MORPH_CSR(T), const T* b,    \
                                                 T* x, int batch, csrqrInfo_t info, void*) {                       \
    return solve_batch<T>(handle, {m, n, nnz, descr, values, offsets, columns}, b, x, batch, info);                \
  }

extern "C" {

cusolverStatus_t cusolverSpCreate(cusolverSpHandle_t* handle) { return made(handle); }
cusolverStatus_t cusolverSpDestroy(cusolverSpHandle_t handle) {
  return handle ? destroyed(handle) : CUSOLVER_STATUS_NOT_INITIALIZED;
}
cusolverStatus_t cusolverSpSetStream(cusolverSpHandle_t handle, cudaStream_t stream) {
  if (!handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
  return handle->stream = stream, CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverSpGetStream(cusolverSpHandle_t handle, cudaStream_t* stream) {
  if (!handle || !stream) return handle ? CUSOLVER_STATUS_INVALID_VALUE : CUSOLVER_STATUS_NOT_INITIALIZED;
  return *stream = handle->stream, CUSOLVER_STATUS_SUCCESS;
}
MORPH_EVERY(S, float, float)
MORPH_EVERY(D, double, double)
MORPH_EVERY(C, cuComplex, float)
MORPH_EVERY(Z, cuDoubleComplex, double)
}
#undef MORPH_HANDLE
#undef MORPH_CSR
#undef MORPH_SQUARE
#undef MORPH_SOLVES
#undef MORPH_EIGEN
#undef MORPH_EVERY
