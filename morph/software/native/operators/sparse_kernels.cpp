// Kernels of sparse tensors: those that torch shares between its devices, and those that CUDA has of its own.
#include "operators/sparse.h"

#include "operators/fallback.h"
#include "operators/kernels.h"

#include <ATen/SparseTensorImpl.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/SparseTensorUtils.h>
#include <ATen/ATen.h>

#include <numeric>
#include <set>

// torch installs no header with it; it is exported by all releases from 2.7 on
namespace at::native {
using flatten_indices_fn = Tensor (*)(const Tensor& indices, IntArrayRef size);
DECLARE_DISPATCH(flatten_indices_fn, flatten_indices_stub)
}  // namespace at::native

namespace software {
namespace {

using at::Tensor;

// Operators of native_functions.yaml with one kernel for SparseCPU and another for SparseCUDA, or with a kernel of both
// that has a part for each device. All others are made of operators on a tensor's parts, and run on the device as such.
const std::set<std::string> HOSTS_COO = {
    "aten::add.out", "aten::bmm", "aten::bmm.out", "aten::_sparse_sparse_matmul", "aten::mul.out", "aten::sspaddmm.out",
    "aten::_sparse_sum_backward", "aten::_sparse_softmax", "aten::_sparse_softmax_backward_data",
    "aten::_sparse_log_softmax", "aten::_sparse_log_softmax_backward_data", "aten::addmm.out", "aten::addmm",
    "aten::addmm_", "aten::_coalesce", "aten::hspmm.out", "aten::hspmm", "aten::index_select", "aten::sparse_mask",
    "aten::_sparse_mask_projection"};
const std::set<std::string> HOSTS_COMPRESSED = {
    "aten::add.out", "aten::addmv.out", "aten::_sparse_csr_sum.dim_dtype", "aten::_sparse_csr_prod.dim_dtype",
    "aten::sparse_sampled_addmm.out", "aten::sparse_sampled_addmm", "aten::addmm.out", "aten::triangular_solve.X"};

c10::DeviceIndex index_among(const torch::jit::Stack& stack, size_t count) {
  for (const c10::IValue& value : at::ArrayRef<c10::IValue>(stack).slice(stack.size() - count))
    if (value.isTensor() && on_device(value.toTensor())) return value.toTensor().device().index();
  return -1;
}

template <bool compressed>
void shared(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  OnDevice on(index_among(*stack, op.schema().arguments().size()));
  op.callBoxedForDispatchKey(compressed ? c10::DispatchKey::SparseCsrCPU : c10::DispatchKey::SparseCPU, *stack);
}

template <bool compressed>
void prefer_kernels() {
  auto& dispatcher = c10::Dispatcher::singleton();
  const auto hosts = compressed ? c10::DispatchKey::SparseCsrCPU : c10::DispatchKey::SparseCPU;
  const auto& own = compressed ? HOSTS_COMPRESSED : HOSTS_COO;
  torch::Library& library = library_for(sparse_key(compressed));
  for (const c10::OperatorName& name : dispatcher.getRegistrationsForDispatchKey(hosts)) {
    auto op = dispatcher.findSchema(name);
    bool left = op && !op->hasKernelForDispatchKey(sparse_key(compressed)) && name.getNamespace() == "aten";
    bool of_host_only = name.name == "aten::is_pinned" || name.name == "aten::_pin_memory";
    if (!left || of_host_only) continue;
    auto kernel = own.count(c10::toString(name)) ? torch::CppFunction::makeFromBoxedFunction<&fallback>()
                                                 : torch::CppFunction::makeFromBoxedFunction<&shared<compressed>>();
    library.impl(c10::toString(name).c_str(), std::move(kernel));
  }
}

Tensor flatten_indices(const Tensor& indices, at::IntArrayRef size) {
  std::vector<int64_t> all(size.size());
  std::iota(all.begin(), all.end(), 0);
  return at::sparse::flatten_indices_by_dims(indices, size, all);
}

// A stub has no place for XPU's function in a build without it.
void install_stub() {
  auto& stub = at::native::flatten_indices_stub;
  if (settings().type == c10::DeviceType::CUDA) stub.set_cuda_dispatch_ptr(&flatten_indices);
  else if (settings().type == c10::DeviceType::PrivateUse1) stub.set_privateuse1_dispatch_ptr(&flatten_indices);
}

void refuse_of_host(const Tensor& tensor, const char* name, bool sparse) {
  const char *article = sparse ? "" : "a ", *noun = sparse ? "" : " tensor";
  TORCH_CHECK(on_device(tensor), "add: expected '", name, "' to be ", article, "CUDA", noun, ", but got ", article,
              "CPU", noun);
}

// CUDA's sum of two sparse tensors has the elements of both, one after the other, and is not coalesced.
Tensor& joined(const Tensor& self, const Tensor& other, const at::Scalar& alpha, Tensor& out) {
  using namespace at::sparse;
  TORCH_CHECK(self.sizes().equals(other.sizes()), "add: expected 'self' and 'other' to have same size, but ",
              self.sizes(), " != ", other.sizes());
  if (other._nnz() == 0) return at::_ops::copy_sparse_to_sparse_::call(out, self, false);
  TORCH_CHECK(is_same_density(self, other), "add: expected 'self' and 'other' to have same density, but 'self' has ",
              self.sparse_dim(), " sparse dimensions while 'other' has ", other.sparse_dim(), " sparse dimensions");
  auto type = out.scalar_type();
  Tensor values = at::cat({self._values().to(type), other._values().to(type).mul(alpha)});
  Tensor indices = at::cat({self._indices(), other._indices()}, 1);
  out.resize_as_(other);
  alias_into_sparse(out, indices, values);
  get_sparse_impl(out)->set_coalesced(false);
  if (out._nnz() <= out.numel()) return out;
  Tensor sum = out.coalesce();
  alias_into_sparse(out, sum._indices(), sum._values());
  return out._coalesced_(true);
}

void add_sparse(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::IValue* values = stack->data() + (stack->size() - op.schema().arguments().size());
  const Tensor &self = values[0].toTensor(), &other = values[1].toTensor();
  refuse_of_host(self, "self", self.is_sparse());
  TORCH_CHECK(!self.is_sparse() || other.is_sparse(),
              "add(sparse, dense) is not supported. Use add(dense, sparse) instead.");
  refuse_of_host(other, "other", self.is_sparse());
  if (!self.is_sparse()) return fallback(op, keys, stack);
  Tensor out = values[3].toTensor();
  OnDevice on(out.device().index());
  joined(self, other, values[2].toScalar(), out);
  torch::jit::drop(*stack, op.schema().arguments().size());
  torch::jit::push(*stack, out);
}

// The CPU has no product of truths.
void multiply(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::IValue* values = stack->data() + (stack->size() - 3);
  Tensor self = values[0].toTensor(), other = values[1].toTensor(), out = values[2].toTensor();
  if (self.scalar_type() != at::kBool || other.scalar_type() != at::kBool) return fallback(op, keys, stack);
  Tensor product = self.to(at::kByte).mul(other.to(at::kByte)).to(at::kBool);
  torch::jit::drop(*stack, 3);
  torch::jit::push(*stack, at::_ops::copy_sparse_to_sparse_::call(out, product, false));
}

void install_cudas() {
  torch::Library& library = library_for(sparse_key(false));
  boxed<&add_sparse>(library, {"add.out"});
  boxed<&multiply>(library, {"mul.out"});
}

}  // namespace

void install_sparse_kernels() {
  install_stub();
  if (settings().type == c10::DeviceType::CUDA) install_cudas();
  prefer_kernels<false>();
  prefer_kernels<true>();
}

}  // namespace software
