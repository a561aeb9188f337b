// Products and solutions with compressed sparse tensors that CUDA's libraries compute and the CPU's do not.
#include "operators/dtypes.h"
#include "operators/fallback.h"
#include "operators/kernels.h"
#include "operators/sparse.h"

#include <ATen/ATen.h>
#include <ATen/native/Resize.h>

#include <limits>

namespace software {
namespace {

using at::Scalar;
using at::Tensor;

const Traits& halves_widened() {
  static const Traits traits = [] {
    Traits made;
    for (auto type : {at::kHalf, at::kBFloat16}) made.widened |= uint64_t(1) << int(type);
    return made;
  }();
  return traits;
}

bool is_blocked(const Tensor& tensor) {
  return tensor.layout() == c10::kSparseBsr || tensor.layout() == c10::kSparseBsc;
}

// CUDA multiplies blocks of halves by a kernel of Triton, which rounds the product before it is scaled.
void block_product(torch::jit::Stack* stack) {
  std::vector<c10::IValue> values = torch::jit::pop(*stack, 6);
  Tensor out = values[5].toTensor();
  auto wide = [](const c10::IValue& value) { return value.toTensor().to_dense().to(at::kFloat); };
  Tensor product = at::mm(wide(values[1]), wide(values[2]));
  product = product.to(out.scalar_type()).mul(values[4].toScalar());
  at::native::resize_output(out, product.sizes());
  at::Scalar beta = values[3].toScalar();
  out.copy_(beta.toComplexDouble() == 0. ? product : product.add(values[0].toTensor().mul(beta)));
  torch::jit::push(*stack, out);
}

void refuse_blocks(const Tensor& sparse, const Tensor& dense) {
  TORCH_CHECK(sparse.layout() != c10::kSparseBsc || dense.layout() != c10::kStrided,
              "addmm: computation on CUDA is not implemented for Strided + SparseBsc @ Strided");
  TORCH_CHECK(sparse.layout() != c10::kSparseBsr || sparse.scalar_type() == dense.scalar_type(),
              "spmm(Bsr, Strided): arguments expected to have the same dtype.");
}

// (self, mat1, mat2, *, beta, alpha, out)
void check_product(torch::jit::Stack* stack) {
  Tensor sparse = torch::jit::peek(*stack, 1, 6).toTensor(), dense = torch::jit::peek(*stack, 2, 6).toTensor();
  refuse_blocks(sparse, dense);
  bool mixed = dense.layout() == c10::kStrided && sparse.scalar_type() != dense.scalar_type();
  TORCH_CHECK(!mixed || sparse.layout() == c10::kStrided,
              "CUDA error: operation not supported when calling `cusparseSpMM_bufferSize( handle, opA, opB, &alpha_, "
              "descA.descriptor(), descB.unsafe_mutable_descriptor(), &beta_, descC.descriptor(), compute_type, "
              "algorithm, &buffer_size )`");
}

// (self, mat1, mat2, ...)
void coordinate_product(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  Tensor sparse = torch::jit::peek(*stack, 1, op.schema().arguments().size()).toTensor();
  Tensor dense = torch::jit::peek(*stack, 2, op.schema().arguments().size()).toTensor();
  at::ScalarType type = sparse.scalar_type();
  bool refused = sparse.layout() == c10::kSparse && dense.layout() == c10::kStrided && sparse.numel() &&
                 type != at::kFloat && type != at::kDouble && type != at::kComplexFloat && type != at::kComplexDouble;
  TORCH_CHECK_NOT_IMPLEMENTED(!refused, "\"addmm_sparse_cuda\" not implemented for '", toString(type), "'");
  fallback(op, keys, stack);
}

// cuSPARSE takes halves.
void compressed_product(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::IValue* values = stack->data() + (stack->size() - op.schema().arguments().size());
  if (op.schema().name() == "aten::addmm") check_product(stack);
  if (!widens(halves_widened(), op.schema(), values)) return fallback(op, keys, stack);
  bool in_blocks = is_blocked(values[1].toTensor()) || is_blocked(values[2].toTensor());
  if (in_blocks && op.schema().name() == "aten::addmm" && values[5].toTensor().layout() == c10::kStrided)
    return block_product(stack);
  widen(op, halves_widened(), stack);
}

// A batch whose members have the same elements can have its indices once.
Tensor member(const Tensor& sparse, int64_t batch) {
  if (sparse.crow_indices().dim() > 1) return sparse.select(0, batch);
  return at::_sparse_csr_tensor_unsafe(sparse.crow_indices(), sparse.col_indices(), sparse.values(),
                                       sparse.sizes().slice(1), sparse.options());
}

Tensor& batches_added(const Tensor& self, const Tensor& sparse, const Tensor& dense, const Scalar& beta,
                      const Scalar& alpha, Tensor& out) {
  TORCH_CHECK(sparse.layout() == c10::kSparseCsr && dense.layout() == c10::kStrided,
              "baddbmm: operation not supported on mat1 with layout ", sparse.layout(), " and mat2 with layout ",
              dense.layout());
  for (int64_t batch : c10::irange(sparse.size(0)))
    out[batch].copy_(at::addmm(self[batch], member(sparse, batch), dense[batch], beta, alpha));
  return out;
}

Tensor& batched(const Tensor& sparse, const Tensor& dense, Tensor& out) {
  at::native::resize_output(out, {sparse.size(0), sparse.size(1), dense.size(2)});
  return batches_added(at::zeros_like(out), sparse, dense, 0, 1, out);
}

// MKL's is wrong for a diagonal of ones and can crash for lower triangles, says torch's test_block_triangular_solve.
std::tuple<Tensor&, Tensor&> triangular_solve(const Tensor& right, const Tensor& triangle, bool upper, bool transpose,
                                              bool ones, Tensor& solution, Tensor& coefficients) {
  at::native::resize_output(solution, right.sizes());
  if (triangle._nnz() == 0) solution.fill_(std::numeric_limits<double>::quiet_NaN());
  else solution.copy_(std::get<0>(at::triangular_solve(right, triangle.to_dense(), upper, transpose, ones)));
  return {solution, coefficients};
}

Tensor solve(const Tensor&, const Tensor&, bool) {
  TORCH_CHECK(false, "Calling linear solver with sparse tensors requires compiling PyTorch with CUDA cuDSS and is not "
                     "supported in ROCm build.");
}

}  // namespace

void install_compressed_products() {
  torch::Library& coordinates = library_for(sparse_key(false));
  boxed<&coordinate_product>(coordinates, {"addmm", "addmm_", "addmm.out"});
  torch::Library& library = library_for(sparse_key(true));
  boxed<&compressed_product>(library, {"addmm.out", "addmv.out"});
  library.impl("baddbmm.out", &batches_added);
  library.impl("bmm.out", &batched);
  library.impl("triangular_solve.X", &triangular_solve);
  library.impl("_spsolve", &solve);
}

}  // namespace software
