// Sparse tensors of the device: torch's own structure, the CPU's operators.
#include "operators/sparse.h"

#include "operators/fallback.h"
#include "operators/kernels.h"
#include "memory/host_view.h"

#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/native/SparseTensorUtils.h>
#include <ATen/ops/_coalesced_native.h>
#include <ATen/ops/_indices_native.h>
#include <ATen/ops/_nnz_native.h>
#include <ATen/ops/_sparse_compressed_tensor_unsafe.h>
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_and_tensors_native.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_native.h>
#include <ATen/ops/_values_native.h>
#include <ATen/ops/clone_native.h>
#include <ATen/ops/col_indices_native.h>
#include <ATen/ops/ccol_indices_native.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/copy_sparse_to_sparse_native.h>
#include <ATen/ops/crow_indices_native.h>
#include <ATen/ops/dense_dim_native.h>
#include <ATen/ops/empty_native.h>
#include <ATen/ops/indices_native.h>
#include <ATen/ops/is_coalesced_native.h>
#include <ATen/ops/row_indices_native.h>
#include <ATen/ops/sparse_dim_native.h>
#include <ATen/ops/sparse_resize_and_clear_native.h>
#include <ATen/ops/sparse_resize_native.h>
#include <ATen/ops/values_native.h>

namespace software {
namespace {

using at::Tensor;

template <typename Convert>
Tensor converted(const Tensor& tensor, Convert convert) {
  if (tensor.layout() == c10::kSparse) {
    auto* parts = at::sparse::get_sparse_impl(tensor);
    return at::_sparse_coo_tensor_unsafe(convert(parts->indices()), convert(parts->values()), tensor.sizes())
        ._coalesced_(parts->coalesced());
  }
  auto* parts = at::sparse_csr::get_sparse_csr_impl(tensor);
  Tensor values = convert(parts->values());
  return at::_sparse_compressed_tensor_unsafe(convert(parts->compressed_indices()), convert(parts->plain_indices()),
                                              values, tensor.sizes(), values.options().layout(tensor.layout()));
}

c10::DeviceIndex index_of(const Tensor& tensor) { return tensor.defined() ? tensor.device().index() : -1; }
c10::DeviceIndex index_of(const std::optional<c10::Device>& wanted) { return wanted ? wanted->index() : -1; }
template <typename Other>
c10::DeviceIndex index_of(const Other&) {
  return -1;
}

// A sparse tensor allocates its parts on the current device; a build with CUDA makes the arguments' device current.
template <auto function>
struct Guarded;
template <typename Result, typename... Arguments, Result (*function)(Arguments...)>
struct Guarded<function> {
  static Result call(Arguments... arguments) {
    c10::DeviceIndex index = -1;
    ((index = index >= 0 ? index : index_of(arguments)), ...);
    OnDevice on(index);
    return function(std::forward<Arguments>(arguments)...);
  }
};

void refuse_on_the_device(const c10::OperatorHandle& op, torch::jit::Stack*) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "Could not run '", op.operator_name(), "' with arguments from the '",
                              c10::toString(sparse_key(true)), "' backend. This could be because the operator doesn't exist for this backend.");
}

}  // namespace

Tensor sparse_host_view(const Tensor& tensor) {
  return converted(tensor, [](const Tensor& part) { return host_view(part); });
}

Tensor sparse_to_device(const Tensor& host, c10::Device target) {
  return converted(host, [&](const Tensor& part) { return to_device(part, target); });
}

void adopt(const Tensor& mine, const Tensor& other) {
  if (mine.layout() == c10::kSparse) {
    auto* from = at::sparse::get_sparse_impl(other);
    auto* to = at::sparse::get_sparse_impl(mine);
    to->raw_resize_(from->sparse_dim(), from->dense_dim(), other.sizes());
    Tensor indices = to_device(from->indices(), mine.device());
    to->set_indices_and_values_unsafe(indices, to_device(from->values(), mine.device()));
    return to->set_coalesced(from->coalesced());
  }
  auto* from = at::sparse_csr::get_sparse_csr_impl(other);
  at::sparse_csr::get_sparse_csr_impl(mine)->set_member_tensors(
      to_device(from->compressed_indices(), mine.device()), to_device(from->plain_indices(), mine.device()),
      to_device(from->values(), mine.device()), other.sizes());
}

void write_back_sparse(const Tensor& mine, const Tensor& host) {
  if (mine.layout() != c10::kSparse && mine.sizes() == host.sizes()) {
    auto same = [](const Tensor& one, const Tensor& two) {
      return usable(one.storage().data()) == usable(two.storage().data()) && one.sizes() == two.sizes();
    };
    auto* from = at::sparse_csr::get_sparse_csr_impl(host);
    auto* to = at::sparse_csr::get_sparse_csr_impl(mine);
    if (same(from->values(), to->values()) && same(from->plain_indices(), to->plain_indices()) &&
        same(from->compressed_indices(), to->compressed_indices()))
      return;  // its values were written in place
  }
  adopt(mine, host);
}

void install_sparse() {
  torch::Library& coo = library_for(sparse_key(false));
  coo.impl("_sparse_coo_tensor_with_dims", &Guarded<&at::native::new_with_dims_sparse>::call);
  coo.impl("_sparse_coo_tensor_with_dims_and_tensors",
           &Guarded<&at::native::new_with_dims_and_tensor_sparse_symint>::call);
  coo.impl("_indices", &at::native::_indices_sparse);
  coo.impl("_values", &at::native::_values_sparse);
  coo.impl("indices", &at::native::indices_sparse);
  coo.impl("values", &at::native::values_sparse);
  coo.impl("_nnz", &at::native::_nnz_sparse);
  coo.impl("sparse_dim", &at::native::sparse_dim_sparse);
  coo.impl("dense_dim", &at::native::dense_dim_sparse);
  coo.impl("is_coalesced", &at::native::is_coalesced_sparse);
  coo.impl("_coalesced_", &at::native::_coalesced_sparse_);
  coo.impl("empty.memory_format", &Guarded<&at::native::empty_sparse>::call);
  coo.impl("clone", &Guarded<&at::native::clone_sparse>::call);
  coo.impl("copy_", &Guarded<&at::native::copy_sparse_wrapper_>::call);
  coo.impl("copy_sparse_to_sparse_", &Guarded<&at::native::copy_sparse_>::call);
  coo.impl("sparse_resize_", &Guarded<&at::native::sparse_resize_>::call);
  coo.impl("sparse_resize_and_clear_", &Guarded<&at::native::sparse_resize_and_clear_>::call);
  torch::Library& compressed = library_for(sparse_key(true));
  compressed.impl("crow_indices", &at::native::crow_indices_sparse_csr);
  compressed.impl("col_indices", &at::native::col_indices_sparse_csr);
  compressed.impl("ccol_indices", &at::native::ccol_indices_sparse_csr);
  compressed.impl("row_indices", &at::native::row_indices_sparse_csr);
  compressed.impl("values", &at::native::values_sparse_csr);
  compressed.impl("_nnz", &at::native::_nnz_sparse_csr);
  compressed.impl("sparse_dim", &at::native::sparse_dim_sparse_csr);
  compressed.impl("dense_dim", &at::native::dense_dim_sparse_csr);
  compressed.impl("empty.memory_format", &Guarded<&at::native::empty_sparse_compressed>::call);
  compressed.impl("clone", &Guarded<&at::native::clone_sparse_compressed>::call);
  compressed.impl("copy_", &Guarded<&at::native::copy_sparse_compressed_>::call);
  boxed<&refuse_on_the_device>(compressed, {"_sparse_mm_reduce_impl", "_sparse_mm_reduce_impl_backward"});
  if (settings().type == c10::DeviceType::CUDA) install_compressed_products();
  install_sparse_kernels();
}

}  // namespace software
