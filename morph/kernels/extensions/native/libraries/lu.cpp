// Factors L and U by torch, or without pivots.
#include "lu.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/linalg_lu_factor_ex.h>
#include <ATen/ops/linalg_lu_solve.h>

namespace morph_cuda::lu {
namespace {

// torch has none on a CPU. Returns LAPACK's number of a pivot that is zero.
int64_t eliminate(const at::Tensor& a) {
  int64_t rows = a.size(0), columns = a.size(1);
  for (int64_t i = 0; i < std::min(rows, columns); i++) {
    if (a[i][i].eq(0).item<bool>()) return i + 1;
    at::Tensor below = a.narrow(0, i + 1, rows - i - 1), column = below.select(1, i).div_(a[i][i]);
    below.narrow(1, i + 1, columns - i - 1).addr_(column, a[i].narrow(0, i + 1, columns - i - 1), 1, -1);
  }
  return 0;
}

}  // namespace

void factor(const at::Tensor& a, Pivots into, int* info) {
  if (!into.data) return void(*used(info, 1, true) = int(eliminate(a)));
  auto [factors, pivots, found] = at::linalg_lu_factor_ex(a);
  a.copy_(factors);
  into.tensor(pivots.numel(), true).copy_(pivots);
  *used(info, 1, true) = found.item<int>();
}

at::Tensor solved(const at::Tensor& factors, Pivots from, cublasOperation_t op, const at::Tensor& b) {
  int64_t n = factors.size(0);
  at::Tensor pivots = from.data ? from.tensor(n).to(at::kInt) : at::arange(1, n + 1, at::kInt);
  TORCH_CHECK(pivots.ge(1).logical_and(pivots.le(n)).all().item<bool>(), "a pivot is no row of the matrix");
  bool is_plain = op == CUBLAS_OP_T && b.is_complex();  // torch has the adjoint alone
  at::Tensor x = at::linalg_lu_solve(factors, pivots, is_plain ? b.conj() : b, true, op != CUBLAS_OP_N);
  return is_plain ? x.conj() : x;
}

int64_t first_zero(const at::Tensor& matrix) {
  at::Tensor zeros = matrix.diagonal().eq(0);
  return zeros.any().item<bool>() ? zeros.to(at::kInt).argmax().item<int64_t>() + 1 : 0;
}

}  // namespace morph_cuda::lu
