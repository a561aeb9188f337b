// Fourier transforms: what cuFFT refuses of halves, and the layout of its results, which have the transformed dimensions
// innermost where the CPU's are contiguous (torch's aten/src/ATen/native/cuda/SpectralOps.cpp).
#include "operators/fallback.h"
#include "operators/kernels.h"
#include "operators/operators.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_fft_c2c.h>
#include <ATen/ops/_fft_c2r.h>
#include <ATen/ops/_fft_r2c.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/util/irange.h>

#include <numeric>

namespace software {
namespace {

using at::DimVector;
using at::IntArrayRef;
using at::Tensor;

constexpr size_t kMost = 3;  // the dimensions of one plan

// Of a tensor of these sizes, in which the dimensions that one plan transforms are innermost.
DimVector after_plan(IntArrayRef sizes, IntArrayRef strides, IntArrayRef dims) {
  auto is_transformed = [&](int64_t dim) { return std::find(dims.begin(), dims.end(), dim) != dims.end(); };
  DimVector order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  auto end = std::stable_partition(order.begin(), order.end(), [&](int64_t dim) { return !is_transformed(dim); });
  std::sort(order.begin(), end, [&](int64_t one, int64_t other) { return strides[one] > strides[other]; });
  std::copy(dims.begin(), dims.end(), end);
  DimVector result(sizes.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    result[order[i]] = stride;
    stride *= std::max<int64_t>(sizes[order[i]], 1);
  }
  return result;
}

// One plan for each three dimensions, those of the largest strides last.
DimVector after_complex(IntArrayRef sizes, DimVector strides, DimVector dims) {
  while (!dims.empty()) {
    std::sort(dims.begin(), dims.end(), [&](int64_t one, int64_t other) { return strides[one] > strides[other]; });
    size_t count = std::min(kMost, dims.size());
    strides = after_plan(sizes, strides, IntArrayRef(dims).slice(dims.size() - count, count));
    dims.resize(dims.size() - count);
  }
  return strides;
}

bool is_one_plan(IntArrayRef dims) {
  return dims.size() <= kMost && !(dims.size() >= 2 && dims[0] == 0 && dims[1] == 1);
}

DimVector with(IntArrayRef sizes, int64_t dim, int64_t size) {
  DimVector result(sizes);
  result[dim] = size;
  return result;
}

DimVector after_real(const Tensor& self, IntArrayRef dims) {
  DimVector sizes = with(self.sizes(), dims.back(), self.size(dims.back()) / 2 + 1), strides(self.strides());
  if (is_one_plan(dims)) return after_plan(sizes, strides, dims);
  strides = after_plan(sizes, strides, dims.slice(dims.size() - 1));
  return after_complex(sizes, strides, DimVector(dims.slice(0, dims.size() - 1)));
}

DimVector contiguous(IntArrayRef sizes) {
  DimVector strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(sizes[i], 1);
  return strides;
}

DimVector after_half(const Tensor& self, IntArrayRef dims, int64_t size) {
  DimVector sizes = with(self.sizes(), dims.back(), size);
  if (is_one_plan(dims)) return after_plan(sizes, contiguous(self.sizes()), dims);
  DimVector strides = after_complex(self.sizes(), DimVector(self.strides()), DimVector(dims.slice(0, dims.size() - 1)));
  return after_plan(sizes, strides, dims.slice(dims.size() - 1));
}

DimVector wrapped_dims(IntArrayRef dims, int64_t count) {
  DimVector result(dims);
  for (int64_t& dim : result) dim = at::maybe_wrap_dim(dim, count);
  return result;
}

void refuse_unless_power_of_two(int64_t size) {
  TORCH_CHECK(size > 0 && !(size & (size - 1)),
              "cuFFT only supports dimensions whose sizes are powers of two when computing in half precision, but got a "
              "signal size of", IntArrayRef(size));
}

// The last dimension of a transform to real numbers has the size of the result.
void check_halves(const Tensor& self, IntArrayRef dims, std::optional<int64_t> last = {}) {
  if (self.scalar_type() != at::kHalf && self.scalar_type() != at::kComplexHalf) return;
  for (size_t i = 0; i < dims.size(); i++)
    refuse_unless_power_of_two(last && i + 1 == dims.size() ? *last : self.size(dims[i]));
}

Tensor laid_out(const Tensor& result, IntArrayRef strides) {
  if (result.strides() == strides || result.numel() == 0) return result;
  return at::empty_strided(result.sizes(), strides, result.options()).copy_(result);
}

// (self, dim, normalization, forward, onesided or last_dim_size)
void transform(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  std::vector<c10::IValue> given = torch::jit::last(*stack, op.schema().arguments().size()).vec();
  const Tensor& self = given[0].toTensor();
  DimVector dims = wrapped_dims(given[1].toIntVector(), self.dim());
  if (op.schema().name() == "aten::_fft_r2c") TORCH_CHECK(self.is_floating_point());
  bool is_to_real = op.schema().name() == "aten::_fft_c2r";
  check_halves(self, dims, is_to_real ? std::optional(given[3].toInt()) : std::nullopt);
  fallback(op, keys, stack);
  Tensor result = stack->back().toTensor();
  if (dims.empty()) return;
  if (is_to_real) stack->back() = laid_out(result, after_half(self, dims, result.size(dims.back())));
  else if (self.is_complex())
    stack->back() = laid_out(result, after_complex(self.sizes(), DimVector(self.strides()), dims));
  else if (given[3].toBool()) stack->back() = laid_out(result, after_real(self, dims));
}

// An output without elements takes the layout of the result.
Tensor& into(Tensor& out, const Tensor& result) { return at::mul_out(out, result, at::scalar_tensor(1.0)); }

Tensor& complex_into(const Tensor& self, IntArrayRef dims, int64_t normalization, bool forward, Tensor& out) {
  return into(out, at::_fft_c2c(self, dims, normalization, forward));
}

Tensor& real_into(const Tensor& self, IntArrayRef dims, int64_t normalization, bool onesided, Tensor& out) {
  if (!onesided) at::native::resize_output(out, self.sizes());  // the other half is filled in
  return into(out, at::_fft_r2c(self, dims, normalization, onesided));
}

Tensor& half_into(const Tensor& self, IntArrayRef dims, int64_t normalization, int64_t size, Tensor& out) {
  return into(out, at::_fft_c2r(self, dims, normalization, size));
}

}  // namespace

KERNELS_OF_CUDA(transforms, library) {
  boxed<&transform>(library, {"_fft_r2c", "_fft_c2c", "_fft_c2r"});
  library.impl("_fft_c2c.out", &complex_into);
  library.impl("_fft_r2c.out", &real_into);
  library.impl("_fft_c2r.out", &half_into);
}

}  // namespace software
