// The hot operators that write to an argument.
#include "operators/unboxed.h"

#include <ATen/Operators.h>

#define OPERATORS(_) \
  _(add__Tensor) _(sub__Tensor) _(mul__Tensor) _(div__Tensor) _(div__Tensor_mode) _(remainder__Tensor) \
  _(fmod__Tensor) _(floor_divide__Tensor) _(pow__Scalar) _(pow__Tensor) _(addcmul_) _(addcdiv_) _(lerp__Scalar) \
  _(lerp__Tensor) _(clamp_) _(clamp__Tensor) _(clamp_min_) _(clamp_min__Tensor) _(clamp_max_) _(clamp_max__Tensor) \
  _(eq__Scalar) _(eq__Tensor) _(ne__Scalar) _(ne__Tensor) _(lt__Scalar) _(lt__Tensor) _(le__Scalar) _(le__Tensor) \
  _(gt__Scalar) _(gt__Tensor) _(ge__Scalar) _(ge__Tensor) _(bitwise_and__Tensor) _(bitwise_or__Tensor) \
  _(bitwise_xor__Tensor) _(bitwise_not_) _(logical_and_) _(logical_or_) _(logical_not_) _(abs_) _(acos_) _(asin_) \
  _(atan_) _(ceil_) _(cos_) _(cosh_) _(erf_) _(erfc_) _(exp_) _(expm1_) _(floor_) _(frac_) _(log_) _(log10_) \
  _(log1p_) _(log2_) _(logit_) _(neg_) _(reciprocal_) _(round_) _(rsqrt_) _(sgn_) _(sigmoid_) _(sign_) _(sin_) \
  _(sinh_) _(sqrt_) _(tan_) _(tanh_) _(trunc_) _(nan_to_num_) _(relu_) _(gelu_) _(silu_) _(mish_) _(elu_) \
  _(hardtanh_) _(hardsigmoid_) _(hardswish_) _(leaky_relu_) _(threshold_) _(fill__Scalar) _(fill__Tensor) _(zero_) \
  _(masked_fill__Scalar) _(masked_fill__Tensor) _(masked_scatter_) _(cumsum_) _(tril_) _(triu_) _(addmm_) \
  _(addmv_) _(addr_) _(addbmm_) _(baddbmm_) _(index_add_) _(index_copy_) _(index_fill__int_Scalar) \
  _(index_fill__int_Tensor) _(scatter__src) _(scatter__value) _(scatter__reduce) \
  _(scatter__value_reduce) _(scatter_add_) _(scatter_reduce__two) _(put_) _(uniform_) _(normal_) \
  _(bernoulli__float) _(bernoulli__Tensor) _(random_) _(random__from) _(random__to) _(exponential_) _(log_normal_) \
  _(cauchy_) _(geometric_) _(embedding_renorm_) _(conj_physical_) _(arange_start_out)

INSTALLS(install_in_place_operators, OPERATORS)
