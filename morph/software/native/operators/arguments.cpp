// What CUDA refuses by an operator's arguments, where its name and the types of its tensors do not tell.
#include "device/assertions.h"
#include "operators/fallback.h"
#include "operators/kernels.h"
#include "operators/operators.h"
#include "operators/unboxed.h"

#include <ATen/Context.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <limits>

namespace software {
namespace {

using at::Tensor;
using c10::IValue;
using Arguments = at::ArrayRef<IValue>;

void alert(const char* kernel) { at::globalContext().alertNotDeterministic(kernel); }

void median(Arguments arguments) {
  alert("median CUDA with indices output");
  TORCH_CHECK_NOT_IMPLEMENTED(arguments[0].toTensor().scalar_type() != at::kBool,
                              "\"median_out_impl\" not implemented for 'Bool'");
}

// (self, dim, *, dtype): a single row is summed in order.
void cumsum(Arguments arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (!at::isFloatingType(self.scalar_type()) && !at::isComplexType(self.scalar_type())) return;
  if (self.dim() > 1) alert("cumsum_cuda_kernel");
}

// (self, bins, min, max)
void histc(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  IValue& self = torch::jit::peek(*stack, 0, 4);
  at::ScalarType type = self.toTensor().scalar_type();
  bool whole = at::isIntegralType(type, false);
  if (whole) self = self.toTensor().to(at::kDouble);
  else alert("_histc_cuda with floating point input");
  fallback(op, keys, stack);
  if (whole) stack->back() = stack->back().toTensor().to(type);
}

// (self, words), words that are the program's
void asserted(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  bool is_one = torch::jit::peek(*stack, 0, 2).toTensor().numel() == 1;
  try {
    fallback(op, keys, stack);
  } catch (const c10::Error& error) {
    assert_on_device(error, is_one);
    throw;
  }
}

// (n, generator, *, out): of no numbers, any generator and any type will do.
void permuted(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  Tensor out = torch::jit::peek(*stack, 2, 3).toTensor();
  if (torch::jit::peek(*stack, 0, 3).toInt() == 0) {
    torch::jit::drop(*stack, 3);
    return torch::jit::push(*stack, out.resize_({0}));
  }
  TORCH_CHECK_NOT_IMPLEMENTED(out.scalar_type() != at::kBFloat16, "\"randperm_out_cuda\" not implemented for 'BFloat16'");
  fallback(op, keys, stack);
}

// (self, generator), or (self, p, generator)
template <size_t place>
void probabilities(Arguments arguments) {
  const Tensor& given = arguments[place].toTensor();
  at::ScalarType type = given.scalar_type();
  TORCH_CHECK(at::isFloatingType(type) || given.numel() == 0,
              "expected probabilities tensor to have floating type, got ", toString(type));
}

// (grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode, ...)
void embedding_bag_backward(Arguments arguments) {
  constexpr int64_t MAX = 2;
  if (arguments[8].toInt() != MAX) return;
  alert("embedding_bag_backward_cuda_max");
  TORCH_CHECK_NOT_IMPLEMENTED(arguments[0].toTensor().scalar_type() != at::kBFloat16,
                              "\"embedding_bag_backward_cuda_max\" not implemented for 'BFloat16'");
}

// (self, dim, index, src or value, reduce)
void scatter(Arguments arguments) {
  at::ScalarType type = arguments[0].toTensor().scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(!at::isComplexType(type) || arguments[4].toStringRef() != "multiply",
                              "\"cuda_scatter_gather_base_kernel_func\" not implemented for '", toString(type), "'");
}

// (self, dim, index, src, reduce, *, include_self)
void scatter_reduce(Arguments arguments) {
  const std::string& reduce = arguments[4].toStringRef();
  at::ScalarType type = arguments[0].toTensor().scalar_type();
  if (reduce == "prod") alert("scatter_reduce_cuda_prod_");
  bool refused = type == at::kBool ? reduce == "prod" || reduce == "amin" || reduce == "amax"
                                   : at::isComplexType(type) && reduce != "sum";
  TORCH_CHECK_NOT_IMPLEMENTED(!refused, "\"cuda_scatter_gather_base_kernel_func\" not implemented for '", toString(type), "'");
}

// (self, mat2)
void product_of_bytes(Arguments arguments) {
  Tensor self = arguments[0].toTensor(), other = arguments[1].toTensor();
  if (self.dim() != 2 || other.dim() != 2) return;
  int64_t rows = self.size(0), inner = self.size(1), columns = other.size(1);
  TORCH_CHECK(rows > 16, "self.size(0) needs to be greater than 16, but got ", rows);
  TORCH_CHECK(inner > 0 && inner % 8 == 0, "self.size(1) needs to be greater than 0 and a multiple of 8, but got ", inner);
  TORCH_CHECK(columns > 0 && columns % 8 == 0, "mat2.size(1) needs to be greater than 0 and a multiple of 8, but got ",
              columns);
}

// (self, other, *, alpha): tensors of one type on one device are one kernel, which reads the number there.
void add_number(Arguments arguments) {
  std::vector<Tensor> all = arguments[0].toTensorVector();
  const Tensor& number = arguments[1].toTensor();
  auto alike = [&](const Tensor& each) {
    return each.device() == all[0].device() && each.scalar_type() == all[0].scalar_type();
  };
  bool is_one_kernel = number.is_cpu() && std::all_of(all.begin(), all.end(), alike);
  TORCH_CHECK(!is_one_kernel, "scalar tensor expected to be on ", all[0].device(), " but is on ", number.device());
}

// CUDA's kernel counts the results by integers of 32 bits (safe_downcast in AveragePool2d.cu).
using Pooling = at::_ops::avg_pool2d;
Tensor avg_pool2d(const Tensor& self, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding, bool ceil,
                  bool count_padding, std::optional<int64_t> divisor) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (self.numel() > most) [[unlikely]] {
    Tensor meta = at::empty_strided(self.sizes(), self.strides(), self.options().device(at::kMeta));
    Tensor pooled = Pooling::call(meta, kernel, stride, padding, ceil, count_padding, divisor);
    TORCH_CHECK(pooled.numel() <= most, "integer out of range");
  }
  return plain<Pooling>(self, kernel, stride, padding, ceil, count_padding, divisor);
}

template <auto check>
void with_check(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  check(torch::jit::last(*stack, op.schema().arguments().size()));
  fallback(op, keys, stack);
}

}  // namespace

KERNELS_OF_CUDA(checked_arguments, library) {
  boxed<&with_check<&median>>(library, {"median.dim", "median.dim_values", "nanmedian.dim", "nanmedian.dim_values"});
  boxed<&with_check<&probabilities<0>>>(library, {"bernoulli", "bernoulli.out"});
  boxed<&with_check<&probabilities<1>>>(library, {"bernoulli_.Tensor"});
  boxed<&with_check<&cumsum>>(library, {"cumsum", "cumsum_", "cumsum.out"});
  library.impl("avg_pool2d", &avg_pool2d);
  boxed<&histc>(library, {"histc"});
  boxed<&asserted>(library, {"_assert_async.msg"});
  boxed<&permuted>(library, {"randperm.generator_out"});
  boxed<&with_check<&embedding_bag_backward>>(library, {"_embedding_bag_backward"});
  boxed<&with_check<&add_number>>(library, {"_foreach_add.Tensor", "_foreach_add_.Tensor"});
  boxed<&with_check<&product_of_bytes>>(library, {"_int_mm", "_int_mm.out"});
  boxed<&with_check<&scatter_reduce>>(library, {"scatter_reduce.two", "scatter_reduce_.two", "scatter_reduce.two_out"});
  boxed<&with_check<&scatter>>(library,
                               {"scatter.reduce", "scatter_.reduce", "scatter.reduce_out", "scatter.value_reduce",
                                "scatter_.value_reduce", "scatter.value_reduce_out"});
}

}  // namespace software
