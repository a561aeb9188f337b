// The operators on lists of tensors, which optimizers use.
#include "operators/unboxed.h"

#include <ATen/Operators.h>

#define FOREACH(_) \
  _(_foreach_abs) _(_foreach_abs_) _(_foreach_acos) _(_foreach_acos_) _(_foreach_add_List) _(_foreach_add_Scalar) \
  _(_foreach_add_ScalarList) _(_foreach_add__List) _(_foreach_add__Scalar) \
  _(_foreach_add__ScalarList) _(_foreach_addcdiv_Scalar) _(_foreach_addcdiv_ScalarList) \
  _(_foreach_addcdiv__Scalar) _(_foreach_addcdiv__ScalarList) \
  _(_foreach_addcmul_Scalar) _(_foreach_addcmul_ScalarList) \
  _(_foreach_addcmul__Scalar) _(_foreach_addcmul__ScalarList) _(_foreach_asin) \
  _(_foreach_asin_) _(_foreach_atan) _(_foreach_atan_) _(_foreach_ceil) _(_foreach_ceil_) \
  _(_foreach_clamp_max_List) _(_foreach_clamp_max_Scalar) _(_foreach_clamp_max_ScalarList) \
  _(_foreach_clamp_max__List) _(_foreach_clamp_max__Scalar) _(_foreach_clamp_max__ScalarList) \
  _(_foreach_clamp_min_List) _(_foreach_clamp_min_Scalar) _(_foreach_clamp_min_ScalarList) \
  _(_foreach_clamp_min__List) _(_foreach_clamp_min__Scalar) _(_foreach_clamp_min__ScalarList) _(_foreach_clone) \
  _(_foreach_copy) _(_foreach_copy_) _(_foreach_cos) _(_foreach_cos_) _(_foreach_cosh) _(_foreach_cosh_) \
  _(_foreach_div_List) _(_foreach_div_Scalar) _(_foreach_div_ScalarList) _(_foreach_div_Tensor) \
  _(_foreach_div__List) _(_foreach_div__Scalar) _(_foreach_div__ScalarList) _(_foreach_div__Tensor) \
  _(_foreach_erf) _(_foreach_erf_) _(_foreach_erfc) _(_foreach_erfc_) _(_foreach_exp) _(_foreach_exp_) \
  _(_foreach_expm1) _(_foreach_expm1_) _(_foreach_floor) _(_foreach_floor_) _(_foreach_frac) _(_foreach_frac_) \
  _(_foreach_lerp_List) _(_foreach_lerp_Scalar) _(_foreach_lerp_ScalarList) _(_foreach_lerp__List) \
  _(_foreach_lerp__Scalar) _(_foreach_lerp__ScalarList) _(_foreach_lgamma) _(_foreach_lgamma_) _(_foreach_log) \
  _(_foreach_log10) _(_foreach_log10_) _(_foreach_log1p) _(_foreach_log1p_) _(_foreach_log2) _(_foreach_log2_) \
  _(_foreach_log_) _(_foreach_max) _(_foreach_maximum_List) _(_foreach_maximum_Scalar) \
  _(_foreach_maximum_ScalarList) _(_foreach_maximum__List) _(_foreach_maximum__Scalar) \
  _(_foreach_maximum__ScalarList) _(_foreach_minimum_List) _(_foreach_minimum_Scalar) \
  _(_foreach_minimum_ScalarList) _(_foreach_minimum__List) _(_foreach_minimum__Scalar) \
  _(_foreach_minimum__ScalarList) _(_foreach_mm) _(_foreach_mul_List) _(_foreach_mul_Scalar) \
  _(_foreach_mul_ScalarList) _(_foreach_mul_Tensor) _(_foreach_mul__List) _(_foreach_mul__Scalar) \
  _(_foreach_mul__ScalarList) _(_foreach_mul__Tensor) _(_foreach_neg) _(_foreach_neg_) _(_foreach_norm_Scalar) \
  _(_foreach_pow_List) _(_foreach_pow_Scalar) _(_foreach_pow_ScalarAndTensor) _(_foreach_pow_ScalarList) \
  _(_foreach_pow__List) _(_foreach_pow__Scalar) _(_foreach_pow__ScalarList) _(_foreach_powsum_Scalar) \
  _(_foreach_reciprocal) _(_foreach_reciprocal_) _(_foreach_round) _(_foreach_round_) _(_foreach_rsqrt) \
  _(_foreach_rsqrt_) _(_foreach_sigmoid) _(_foreach_sigmoid_) _(_foreach_sign) _(_foreach_sign_) _(_foreach_sin) \
  _(_foreach_sin_) _(_foreach_sinh) _(_foreach_sinh_) _(_foreach_sqrt) _(_foreach_sqrt_) _(_foreach_sub_List) \
  _(_foreach_sub_Scalar) _(_foreach_sub_ScalarList) _(_foreach_sub__List) _(_foreach_sub__Scalar) \
  _(_foreach_sub__ScalarList) _(_foreach_tan) _(_foreach_tan_) _(_foreach_tanh) _(_foreach_tanh_) \
  _(_foreach_trunc) _(_foreach_trunc_) _(_foreach_zero) _(_foreach_zero_)

#define FUSED(_) \
  _(_fused_adam_) _(_fused_adam__tensor_lr) _(_fused_adamw_) _(_fused_adamw__tensor_lr) _(_fused_sgd_) \
  _(_fused_sgd__tensor_lr) _(_fused_adagrad_) _(_fused_adagrad__tensor_lr) \
  _(_amp_foreach_non_finite_check_and_unscale_) _(_amp_update_scale_)

#define INSTALL_FOR_LISTS(name) install_unboxed<at::_ops::name, UnboxedForLists>();

INSTALLS(install_fused_operators, FUSED)

namespace at::_ops {
FOREACH(DECLARE_OPERATOR)
}  // namespace at::_ops

namespace software {

void install_list_operators() { FOREACH(INSTALL_FOR_LISTS) }

}  // namespace software
