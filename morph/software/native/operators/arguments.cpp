// What CUDA refuses by an operator's arguments, where its name and the types of its tensors do not tell.
#include "device/device.h"
#include "operators/fallback.h"
#include "operators/operators.h"

#include <ATen/Context.h>
#include <torch/library.h>

namespace software {
namespace {

using at::Tensor;
using c10::IValue;
using Arguments = at::ArrayRef<IValue>;

void alert(const char* kernel) { at::globalContext().alertNotDeterministic(kernel); }

void median(Arguments) { alert("median CUDA with indices output"); }

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
                              "\"cuda_scatter_fill_base_kernel_reduce_multiply\" not implemented for '", toString(type), "'");
}

// (self, dim, index, src, reduce, *, include_self)
void scatter_reduce(Arguments arguments) {
  const std::string& reduce = arguments[4].toStringRef();
  bool refused = reduce == "prod" || reduce == "amin" || reduce == "amax";
  TORCH_CHECK_NOT_IMPLEMENTED(!refused || arguments[0].toTensor().scalar_type() != at::kBool,
                              "\"cuda_scatter_gather_base_kernel_func\" not implemented for 'Bool'");
}

void refuse_unless_power_of_two(int64_t size) {
  TORCH_CHECK(size > 0 && !(size & (size - 1)),
              "cuFFT only supports dimensions whose sizes are powers of two when computing in half precision, but got a "
              "signal size of", at::IntArrayRef(size));
}

bool is_half(const Tensor& tensor) {
  return tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kComplexHalf;
}

// (self, dim, normalization, ...)
void transform(Arguments arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (!is_half(self)) return;
  for (int64_t dim : arguments[1].toIntVector()) refuse_unless_power_of_two(self.size(dim));
}

// (self, dim, normalization, last_dim_size)
void transform_to_real(Arguments arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (!is_half(self)) return;
  std::vector<int64_t> dims = arguments[1].toIntVector();
  for (size_t i = 0; i + 1 < dims.size(); i++) refuse_unless_power_of_two(self.size(dims[i]));
  if (!dims.empty()) refuse_unless_power_of_two(arguments[3].toInt());
}

template <auto check>
void with_check(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  check(torch::jit::last(*stack, op.schema().arguments().size()));
  fallback(op, keys, stack);
}

}  // namespace

void install_checked_arguments() {
  if (settings().type != c10::DeviceType::CUDA) return;
  static torch::Library library(torch::Library::IMPL, "aten", backend_key(), __FILE__, __LINE__);
  for (const char* name : {"median.dim", "median.dim_values", "nanmedian.dim", "nanmedian.dim_values"})
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&with_check<&median>>());
  library.impl("_embedding_bag_backward", torch::CppFunction::makeFromBoxedFunction<&with_check<&embedding_bag_backward>>());
  for (const char* name : {"_fft_r2c", "_fft_c2c", "_fft_r2c.out", "_fft_c2c.out"})
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&with_check<&transform>>());
  for (const char* name : {"_fft_c2r", "_fft_c2r.out"})
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&with_check<&transform_to_real>>());
  for (const char* name : {"scatter_reduce.two", "scatter_reduce_.two", "scatter_reduce.two_out"})
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&with_check<&scatter_reduce>>());
  for (const char* name : {"scatter.reduce", "scatter_.reduce", "scatter.reduce_out", "scatter.value_reduce",
                           "scatter_.value_reduce", "scatter.value_reduce_out"})
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&with_check<&scatter>>());
}

}  // namespace software
