// What cuSOLVER's functions of sparse matrices share.
#pragma once

#include "morph/solver_sparse.h"
#include "solver.h"
#include "sparse.h"
#include "sparse_factors.h"

struct cusolverSpContext {
  cudaStream_t stream = nullptr;
};

namespace morph_cuda::solver {

struct SparseCaller {
  cusolverSpHandle_t handle;
  const char* name;
  SparseCaller(cusolverSpHandle_t handle, const char* name = __builtin_FUNCTION()) : handle(handle), name(name) {}
};

template <class F>
cusolverStatus_t answered(SparseCaller by, cusolverStatus_t checked, F work) {
  if (!by.handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (checked) return checked;
  Statuses statuses{CUSOLVER_STATUS_ALLOC_FAILED, CUSOLVER_STATUS_EXECUTION_FAILED};
  return cusolverStatus_t(status_of(by.name, by.handle->stream, statuses, work));
}
template <class F>
cusolverStatus_t answered(SparseCaller by, bool is_valid, F work) {
  return answered(by, is_valid ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE, work);
}

template <class T>
struct Csr {  // as a program hands it over
  int64_t rows, columns, nnz;
  const cusparseMatDescr* descr;
  const T* values;
  const int *offsets, *at;

  cusolverStatus_t checked(bool is_valid = true) const {
    if (!is_valid || rows < 0 || columns < 0 || nnz < 0 || !descr || !offsets || !at || !values)
      return CUSOLVER_STATUS_INVALID_VALUE;
    bool is_general = descr->type == CUSPARSE_MATRIX_TYPE_GENERAL;
    return is_general ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
  }
  Rows<Torchs<T>> read(int64_t of_batch = 0) const;
};

// Of a matrix of `columns` columns: its places, and beside each its number in the order of the memory.
inline Rows<int64_t> places(int64_t rows, int64_t columns, int64_t nnz, int base, const int* offsets, const int* at) {
  used(offsets, size_t(rows) + 1, false), used(at, size_t(nnz), false);
  Rows<int64_t> found{columns};
  for (int64_t i = 0; i < rows; i++) {
    TORCH_CHECK(offsets[i] >= base && offsets[i] <= offsets[i + 1] && offsets[i + 1] - base <= nnz,
                "the offsets are not those of a matrix");
    for (int64_t k = offsets[i] - base; k < offsets[i + 1] - base; k++) {
      TORCH_CHECK(at[k] >= base && at[k] - base < columns, "a column is outside of the matrix");
      found.add(at[k] - base, k);
    }
    found.end_row();
  }
  return found;
}

template <class T>
Rows<Torchs<T>> Csr<T>::read(int64_t of_batch) const {
  Rows<int64_t> found = places(rows, columns, nnz, int(descr->base), offsets, at);
  auto* numbers = reinterpret_cast<const Torchs<T>*>(used(values + of_batch * nnz, size_t(nnz), false));
  Rows<Torchs<T>> all{columns, std::move(found.offsets), std::move(found.at)};
  for (int64_t place : found.values) all.values.push_back(numbers[place]);
  return all;
}

template <class T>
std::vector<Torchs<T>> numbers_of(const T* data, int64_t n) {
  auto* first = reinterpret_cast<const Torchs<T>*>(used(data, size_t(n), false));
  return {first, first + n};
}
template <class T>
void store(const std::vector<Torchs<T>>& numbers, T* into) {
  std::copy(numbers.begin(), numbers.end(), reinterpret_cast<Torchs<T>*>(used(into, numbers.size(), true)));
}
inline cusolverStatus_t sized(SparseCaller by, bool is_valid, size_t* internal, size_t* workspace) {
  return answered(by, is_valid && internal && workspace, [&] { *internal = *workspace = sparse::kBuffer; });
}

std::vector<int64_t> order_of(const int* p, int64_t n);  // which a program gives
// By reverse Cuthill and McKee, which keeps numbers near the diagonal, where the factors here want them.
std::vector<int64_t> cuthill_mckee(int64_t n, const std::vector<int64_t>& offsets, const std::vector<int64_t>& at);

}  // namespace morph_cuda::solver
