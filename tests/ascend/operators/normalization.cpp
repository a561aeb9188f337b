// RMSNorm, computed in float32.
#include "operators/interface.h"

using namespace soft_cann;

namespace {

// The last dimensions, as many as the scale has.
std::vector<int64_t> normalized_dims(const Tensor &scale) {
  std::vector<int64_t> dims;
  for (int64_t i = 1; i <= scale.dim(); i++) dims.push_back(-i);
  return dims;
}

Tensor inverse_root_mean_square(const Tensor &input, const Tensor &scale, double epsilon) {
  return (input.square().mean(normalized_dims(scale), true) + epsilon).rsqrt();
}

Tensor sum_leading(const Tensor &input, int64_t count) {
  if (count == 0) return input;
  std::vector<int64_t> dims(count);
  std::iota(dims.begin(), dims.end(), 0);
  return input.sum(dims);
}

}  // namespace

OPERATOR(aclnnRmsNorm,
         (TensorArgument input, TensorArgument scale, double epsilon, TensorArgument out, TensorArgument rstd), {
           Tensor x = as_float(input), r = inverse_root_mean_square(x, scale->value, epsilon);
           put(out, x * r * as_float(scale));
           put(rstd, r);
         })

OPERATOR(aclnnRmsNormGrad,
         (TensorArgument gradient, TensorArgument input, TensorArgument rstd, TensorArgument scale,
          TensorArgument input_gradient, TensorArgument scale_gradient),
         {
           Tensor r = as_float(rstd), normalized = as_float(input) * r, g = as_float(gradient) * as_float(scale);
           Tensor mean = (g * normalized).mean(normalized_dims(scale->value), true);
           put(input_gradient, r * (g - normalized * mean));
           int64_t leading = input->value.dim() - scale->value.dim();
           put(scale_gradient, sum_leading(as_float(gradient) * normalized, leading));
         })
