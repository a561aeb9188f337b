// cuDNN's operators, and CUDA's kernels that programs call by name, computed by torch's equivalent operators.
#include "operators/kernels.h"
#include "operators/operators.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/affine_grid_generator.h>
#include <ATen/ops/affine_grid_generator_backward.h>
#include <ATen/ops/bernoulli.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/grid_sampler_2d.h>
#include <ATen/ops/grid_sampler_2d_backward.h>

namespace software {
namespace {

using at::IntArrayRef;
using at::Tensor;
using Optional = std::optional<Tensor>;

std::vector<int64_t> zeros(IntArrayRef like) { return std::vector<int64_t>(like.size(), 0); }

Tensor cudnn_convolution(const Tensor& input, const Tensor& weight, IntArrayRef padding, IntArrayRef stride,
                   IntArrayRef dilation, int64_t groups, bool, bool, bool) {
  return at::convolution(input, weight, {}, stride, padding, dilation, false, zeros(padding), groups);
}

Tensor transposed(const Tensor& input, const Tensor& weight, IntArrayRef padding, IntArrayRef output_padding,
                  IntArrayRef stride, IntArrayRef dilation, int64_t groups, bool, bool, bool) {
  return at::convolution(input, weight, {}, stride, padding, dilation, true, output_padding, groups);
}

Tensor convolution_relu(const Tensor& input, const Tensor& weight, const Optional& bias, IntArrayRef stride,
                        IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return at::convolution(input, weight, bias, stride, padding, dilation, false, zeros(padding), groups).relu_();
}

Tensor convolution_add_relu(const Tensor& input, const Tensor& weight, const Tensor& added,
                            const std::optional<at::Scalar>& alpha, const Optional& bias, IntArrayRef stride,
                            IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  Tensor result = at::convolution(input, weight, bias, stride, padding, dilation, false, zeros(padding), groups);
  return result.add_(added, alpha.value_or(1)).relu_();
}

Tensor depthwise(const Tensor& input, const Tensor& weight, IntArrayRef, const Optional& bias, IntArrayRef stride,
                 IntArrayRef padding, IntArrayRef dilation) {
  return at::convolution(input, weight, bias, stride, padding, dilation, false, zeros(padding), input.size(1));
}

Tensor grid_sampler(const Tensor& input, const Tensor& grid) { return at::grid_sampler_2d(input, grid, 0, 0, true); }

std::tuple<Tensor, Tensor> grid_sampler_backward(const Tensor& input, const Tensor& grid, const Tensor& gradient) {
  return at::grid_sampler_2d_backward(gradient, input, grid, 0, 0, true, {true, true});
}

Tensor affine_grid(const Tensor& theta, int64_t n, int64_t c, int64_t h, int64_t w) {
  return at::affine_grid_generator(theta, {n, c, h, w}, true);
}

Tensor affine_grid_backward(const Tensor& gradient, int64_t n, int64_t c, int64_t h, int64_t w) {
  return at::affine_grid_generator_backward(gradient, {n, c, h, w}, true);
}

std::tuple<Tensor, Tensor> fused_dropout(const Tensor& self, double kept, std::optional<at::Generator> generator) {
  Tensor mask = at::bernoulli(at::full_like(self, kept), std::move(generator)).to(at::kByte);
  return {self * mask * (1 / kept), mask};
}

Tensor masked_scale(const Tensor& self, const Tensor& mask, double scale) { return self * mask * scale; }

}  // namespace

KERNELS_OF_CUDA(cudnn, library) {
  library.impl("cudnn_convolution", &cudnn_convolution);
  library.impl("cudnn_convolution_transpose", &transposed);
  library.impl("cudnn_convolution_relu", &convolution_relu);
  library.impl("cudnn_convolution_add_relu", &convolution_add_relu);
  library.impl("_conv_depthwise2d", &depthwise);
  library.impl("conv_depthwise3d", &depthwise);
  library.impl("cudnn_grid_sampler", &grid_sampler);
  library.impl("cudnn_grid_sampler_backward", &grid_sampler_backward);
  library.impl("cudnn_affine_grid_generator", &affine_grid);
  library.impl("cudnn_affine_grid_generator_backward", &affine_grid_backward);
  library.impl("_fused_dropout", &fused_dropout);
  library.impl("_masked_scale", &masked_scale);
}

}  // namespace software
