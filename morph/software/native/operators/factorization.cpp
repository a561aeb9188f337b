// Factorizations as CUDA's libraries offer them and the CPU's LAPACK does not: without pivots, by a chosen driver.
#include "operators/fallback.h"
#include "operators/kernels.h"
#include "operators/operators.h"
#include "operators/unboxed.h"

#include <ATen/ATen.h>

namespace software {
namespace {

using at::Tensor;
using at::indexing::Ellipsis;
using at::indexing::Slice;
using torch::jit::Stack;

Tensor without_pivots(const Tensor& matrices) {
  Tensor lu = matrices.mT().clone(at::MemoryFormat::Contiguous).mT();  // by columns, as cuSOLVER
  for (int64_t k = 0, most = std::min(lu.size(-2), lu.size(-1)); k < most; k++) {
    Tensor below = lu.index({Ellipsis, Slice(k + 1), Slice(k, k + 1)});
    Tensor pivot = lu.index({Ellipsis, Slice(k, k + 1), Slice(k, k + 1)});
    below.div_(pivot.masked_fill(pivot == 0, 1));  // as LAPACK, which then leaves the column
    lu.index({Ellipsis, Slice(k + 1), Slice(k + 1)}).sub_(below.matmul(lu.index({Ellipsis, Slice(k, k + 1), Slice(k + 1)})));
  }
  return lu;
}

// The place, from one, of the first zero on the diagonal; zero without any.
Tensor first_zero(const Tensor& lu) {
  Tensor zeros = lu.diagonal(0, -2, -1).eq(0);
  if (!zeros.size(-1)) return at::zeros(zeros.sizes().slice(0, zeros.dim() - 1), zeros.options().dtype(at::kInt));
  return zeros.any(-1).mul(zeros.to(at::kInt).argmax(-1).add(1)).to(at::kInt);
}

// (A, *, bool pivot, bool check_errors) -> (LU, pivots, info)
void lu_factor(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  auto arguments = torch::jit::last(*stack, 3);
  if (arguments[1].toBool()) return fallback(op, keys, stack);
  Tensor lu = without_pivots(arguments[0].toTensor()), info = first_zero(lu);
  bool checked = arguments[2].toBool();
  if (checked) at::_linalg_check_errors(info, "torch.linalg.lu_factor_ex", lu.dim() == 2);
  std::vector<int64_t> sizes = lu.sizes().slice(0, lu.dim() - 1).vec();
  sizes.back() = std::min(lu.size(-2), lu.size(-1));
  Tensor pivots = at::arange(1, sizes.back() + 1, lu.options().dtype(at::kInt)).expand(sizes).contiguous();
  torch::jit::drop(*stack, 3);
  torch::jit::push(*stack, lu, pivots, info);
}

// (A, *, bool pivot) -> (P, L, U)
void decompose(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  auto arguments = torch::jit::last(*stack, 2);
  if (arguments[1].toBool()) return fallback(op, keys, stack);
  Tensor lu = without_pivots(arguments[0].toTensor());
  int64_t k = std::min(lu.size(-2), lu.size(-1));
  Tensor lower = lu.narrow(-1, 0, k).tril(-1), upper = lu.narrow(-2, 0, k).triu();
  lower.diagonal(0, -2, -1).fill_(1);
  torch::jit::drop(*stack, 2);
  torch::jit::push(*stack, at::empty({0}, lu.options()), lower, upper);
}

// (A, full_matrices, compute_uv, str? driver): all of cuSOLVER's compute the same, and give Vh by rows.
void decompose_by_driver(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  c10::IValue& driver = torch::jit::peek(*stack, 3, 4);
  if (driver.isString()) {
    const std::string& name = driver.toStringRef();
    TORCH_CHECK(name == "gesvd" || name == "gesvdj" || name == "gesvda",
                "torch.linalg.svd: unknown svd driver ", name, " in torch._linalg_svd computation");
    driver = c10::IValue();
  }
  fallback(op, keys, stack);
  c10::IValue& transposed = stack->back();
  transposed = transposed.toTensor().contiguous();
}

// The solution by QR, which for a matrix of lower rank has the numbers that a division by zero gives.
void solve_for_any_rank(const Tensor& matrix, const Tensor& given, Stack* stack) {
  bool is_vector = given.dim() + 1 == matrix.dim(), is_wide = matrix.size(-1) > matrix.size(-2);
  Tensor right = is_vector ? given.unsqueeze(-1) : given;
  auto [q, r] = at::linalg_qr(is_wide ? matrix.mH() : matrix);
  Tensor along = is_wide ? right : q.mH().matmul(right);
  Tensor solution = is_wide ? q.matmul(at::linalg_solve_triangular(r.mH(), right, /*upper=*/false))
                            : at::linalg_solve_triangular(r, along, /*upper=*/true);
  bool has_residuals = matrix.size(-2) > matrix.size(-1);
  Tensor none = at::empty({0}, right.options().dtype(c10::toRealValueType(right.scalar_type())));
  Tensor residuals = has_residuals ? (right - q.matmul(along)).abs().pow(2).sum(-2) : none;
  if (is_vector) solution = solution.squeeze(-1);
  torch::jit::push(*stack, solution, residuals, at::empty({0}, right.options().dtype(at::kLong)), none);
}

// (self, b, rcond, *, driver), CUDA's only one, which is its default
void least_squares(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  c10::IValue& driver = torch::jit::peek(*stack, 3, op.schema().arguments().size());
  TORCH_CHECK(driver.isNone() || driver.toStringView() == "gels",
              "torch.linalg.lstsq: `driver` other than `gels` is not supported on CUDA");
  driver = "gels";
  auto arguments = torch::jit::last(*stack, op.schema().arguments().size()).vec();
  size_t below = stack->size() - arguments.size();
  try {
    fallback(op, keys, stack);
  } catch (const c10::LinAlgError&) {
    if (arguments.size() > 4) throw;  // into outputs
    stack->resize(below);
    solve_for_any_rank(arguments[0].toTensor(), arguments[1].toTensor(), stack);
  }
}

// cuSOLVER does not look whether the factor is singular.
Tensor inverse_of_factor(const Tensor& factor, bool upper) {
  try {
    return at::cholesky_inverse(factor, upper);
  } catch (const c10::LinAlgError&) {
    Tensor singular = factor.diagonal(0, -2, -1).eq(0).any(-1).unsqueeze(-1).unsqueeze(-1);
    Tensor regular = factor.masked_fill(singular, 0);
    regular.diagonal(0, -2, -1).masked_fill_(singular.squeeze(-1), 1);
    return at::cholesky_inverse(regular, upper).masked_fill(singular, std::numeric_limits<double>::quiet_NaN());
  }
}

}  // namespace

KERNELS_OF_CUDA(factorizations, library) {
  boxed<&lu_factor>(library, {"linalg_lu_factor_ex"});
  on_host<"aten::cholesky_inverse", &inverse_of_factor>(library);
  boxed<&least_squares>(library, {"linalg_lstsq", "linalg_lstsq.out"});
  boxed<&decompose>(library, {"linalg_lu"});
  boxed<&decompose_by_driver>(library, {"_linalg_svd"});
}

}  // namespace software
