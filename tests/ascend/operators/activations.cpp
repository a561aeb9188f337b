// SwiGLU, GEGLU, the fast GELU, and rotary position embedding, computed in float32.
#include "operators/interface.h"

using namespace soft_cann;

namespace {

constexpr double kFastGelu = 1.702;
constexpr int64_t kHalves = 0;  // else interleaved pairs

Tensor rotate(const Tensor &input, int64_t mode) {
  if (mode == kHalves) {
    auto halves = input.chunk(2, -1);
    return at::cat({-halves[1], halves[0]}, -1);
  }
  Tensor pairs = input.unflatten(-1, {-1, 2});
  return at::stack({-pairs.select(-1, 1), pairs.select(-1, 0)}, -1).flatten(-2);
}

// The transpose of rotate(), which is antisymmetric.
Tensor rotate_back(const Tensor &input, int64_t mode) { return -rotate(input, mode); }

std::string_view approximation(int64_t number) { return number == 1 ? "tanh" : "none"; }

// The half that is activated, and the other one.
std::pair<Tensor, Tensor> activated_first(TensorArgument input, int64_t dim, bool left) {
  auto halves = as_float(input).chunk(2, dim);
  return left ? std::pair(halves[0], halves[1]) : std::pair(halves[1], halves[0]);
}

}  // namespace

OPERATOR(aclnnGeGluV3,
         (TensorArgument input, int64_t dim, int64_t approximate, bool left, TensorArgument out, TensorArgument gelu),
         {
           auto [gate, other] = activated_first(input, dim, left);
           Tensor activated = at::gelu(gate, approximation(approximate));
           put(gelu, activated);
           put(out, activated * other);
         })

OPERATOR(aclnnGeGluV3Backward,
         (TensorArgument gradient, TensorArgument input, TensorArgument gelu, int64_t dim, int64_t approximate,
          bool left, TensorArgument out),
         {
           auto [gate, other] = activated_first(input, dim, left);
           Tensor g = as_float(gradient), of_other = g * as_float(gelu);
           Tensor of_gate = at::gelu_backward(g * other, gate, approximation(approximate));
           put(out, left ? at::cat({of_gate, of_other}, dim) : at::cat({of_other, of_gate}, dim));
         })

OPERATOR(aclnnSwiGlu, (TensorArgument input, int64_t dim, TensorArgument out), {
  auto halves = as_float(input).chunk(2, dim);
  put(out, at::silu(halves[0]) * halves[1]);
})

OPERATOR(aclnnSwiGluGrad, (TensorArgument gradient, TensorArgument input, int64_t dim, TensorArgument out), {
  auto halves = as_float(input).chunk(2, dim);
  Tensor g = as_float(gradient), s = at::sigmoid(halves[0]);
  Tensor gate = g * halves[1] * s * (1 + halves[0] * (1 - s));
  put(out, at::cat({gate, g * halves[0] * s}, dim));
})

OPERATOR(aclnnFastGelu, (TensorArgument input, TensorArgument out),
         put(out, as_float(input) * at::sigmoid(kFastGelu * as_float(input))))

OPERATOR(aclnnFastGeluBackward, (TensorArgument gradient, TensorArgument input, TensorArgument out), {
  Tensor x = as_float(input), s = at::sigmoid(kFastGelu * x);
  put(out, as_float(gradient) * (s + x * kFastGelu * s * (1 - s)));
})

OPERATOR(aclnnRotaryPositionEmbedding,
         (TensorArgument input, TensorArgument cosine, TensorArgument sine, int64_t mode, TensorArgument out),
         put(out, as_float(input) * as_float(cosine) + rotate(as_float(input), mode) * as_float(sine)))

OPERATOR(aclnnRotaryPositionEmbeddingGrad,
         (TensorArgument gradient, TensorArgument cosine, TensorArgument sine, TensorArgument input, int64_t mode,
          TensorArgument input_gradient, TensorArgument cosine_gradient, TensorArgument sine_gradient),
         {
           Tensor g = as_float(gradient);
           put(input_gradient, g * as_float(cosine) + rotate_back(g * as_float(sine), mode));
           if (!present(input) || !has_elements(cosine_gradient)) return;
           put(cosine_gradient, at::sum_to(g * as_float(input), cosine_gradient->value.sizes()));
           put(sine_gradient, at::sum_to(g * rotate(as_float(input), mode), sine_gradient->value.sizes()));
         })
