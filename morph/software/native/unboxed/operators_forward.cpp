// The hot operators of forward passes that compute a new tensor.
#include "operators/unboxed.h"

#include <ATen/Operators.h>

#define OPERATORS(_) \
  _(add_Tensor) _(sub_Tensor) _(rsub_Tensor) _(mul_Tensor) _(div_Tensor) _(div_Tensor_mode) _(remainder_Tensor) \
  _(fmod_Tensor) _(floor_divide) _(pow_Tensor_Scalar) _(pow_Scalar) _(pow_Tensor_Tensor) _(maximum) _(minimum) \
  _(fmax) _(fmin) _(atan2) _(hypot) _(copysign_Tensor) _(xlogy_Tensor) _(logaddexp) _(heaviside) _(addcmul) \
  _(addcdiv) _(lerp_Scalar) _(lerp_Tensor) _(clamp) _(clamp_Tensor) _(clamp_min) _(clamp_min_Tensor) _(clamp_max) \
  _(clamp_max_Tensor) _(where_self) _(eq_Scalar) _(eq_Tensor) _(ne_Scalar) _(ne_Tensor) _(lt_Scalar) _(lt_Tensor) \
  _(le_Scalar) _(le_Tensor) _(gt_Scalar) _(gt_Tensor) _(ge_Scalar) _(ge_Tensor) _(bitwise_and_Tensor) \
  _(bitwise_or_Tensor) _(bitwise_xor_Tensor) _(bitwise_not) _(bitwise_left_shift_Tensor) \
  _(bitwise_right_shift_Tensor) _(logical_and) _(logical_or) _(logical_xor) _(logical_not) _(isnan) _(isposinf) \
  _(isneginf) _(isinf) _(abs) _(acos) _(acosh) _(angle) _(asin) _(asinh) _(atan) _(atanh) _(ceil) _(cos) _(cosh) \
  _(digamma) _(erf) _(erfc) _(erfinv) _(exp) _(exp2) _(expm1) _(floor) _(frac) _(lgamma) _(log) _(log10) _(log1p) \
  _(log2) _(logit) _(neg) _(reciprocal) _(round) _(round_decimals) _(rsqrt) _(sgn) _(sigmoid) _(sign) _(signbit) \
  _(sin) _(sinc) _(sinh) _(sqrt) _(tan) _(tanh) _(trunc) _(nan_to_num) _(relu) _(gelu) _(silu) _(mish) _(elu) \
  _(celu) _(glu) _(hardtanh) _(hardsigmoid) _(hardswish) _(hardshrink) _(leaky_relu) _(log_sigmoid_forward) \
  _(softplus) _(softshrink) _(threshold) _(_prelu_kernel) _(_softmax) _(_log_softmax) _(_safe_softmax) \
  _(logsumexp) _(logcumsumexp) _(_logcumsumexp) _(cumsum) _(cumprod) _(sum) _(sum_dim_IntList) _(mean) _(mean_dim) \
  _(prod) _(prod_dim_int) _(amax) _(amin) _(aminmax) _(argmax) _(argmin) _(max) _(max_dim) _(min) _(min_dim) \
  _(all) _(all_dim) _(any) _(any_dim) _(std_correction) _(var_correction) _(std_mean_correction) \
  _(var_mean_correction) _(linalg_vector_norm) _(norm_ScalarOpt_dim) _(nansum) _(median) _(median_dim) \
  _(count_nonzero) _(count_nonzero_dim_IntList) _(equal) _(trace) _(mm) _(bmm) _(addmm) _(addmv) _(addr) _(addbmm) \
  _(baddbmm) _(dot) _(vdot) _(mv) _(linalg_cross) _(cat) _(stack) _(index_Tensor) \
  _(index_select) _(index_add) _(index_copy) _(gather) _(scatter_src) _(scatter_value) _(scatter_add) \
  _(scatter_reduce_two) _(masked_select) _(masked_fill_Scalar) _(masked_fill_Tensor) _(masked_scatter) _(nonzero) \
  _(take) _(flip) _(roll) _(repeat_interleave_Tensor) _(repeat) _(tril) _(triu) _(topk) _(sort) _(sort_stable) \
  _(kthvalue) _(mode) _(searchsorted_Tensor) _(bucketize_Tensor) _(histc) _(bincount) _(unique_dim) _(_unique2) \
  _(unique_consecutive) _(isin_Tensor_Tensor) _(constant_pad_nd) _(reflection_pad1d) _(reflection_pad2d) \
  _(replication_pad1d) _(replication_pad2d) _(pixel_shuffle) _(pixel_unshuffle) _(im2col) _(col2im) \
  _(unfold_backward) _(clone) _(native_layer_norm) _(native_batch_norm) \
  _(_native_batch_norm_legit) _(_native_batch_norm_legit_no_stats) _(_batch_norm_with_update) _(native_group_norm) \
  _(embedding) _(embedding_renorm_) _(_embedding_bag) _(_embedding_bag_forward_only) _(max_pool2d_with_indices) \
  _(max_pool3d_with_indices) _(avg_pool2d) _(avg_pool3d) _(_adaptive_avg_pool2d) _(_adaptive_avg_pool3d) \
  _(adaptive_max_pool2d) _(upsample_nearest1d) _(upsample_nearest2d) _(upsample_nearest3d) _(upsample_linear1d) \
  _(upsample_bilinear2d) _(upsample_bicubic2d) _(upsample_trilinear3d) _(_upsample_nearest_exact2d) \
  _(_upsample_bilinear2d_aa) _(grid_sampler_2d) _(grid_sampler_3d) _(nll_loss_forward) _(nll_loss2d_forward) \
  _(mse_loss) _(smooth_l1_loss) _(huber_loss) _(binary_cross_entropy) _(binary_cross_entropy_with_logits) \
  _(_ctc_loss) _(_ctc_loss_Tensor) _(_cdist_forward) _(_masked_softmax) \
  _(_scaled_dot_product_flash_attention_for_cpu) _(_transform_bias_rescale_qkv) _(mkldnn_rnn_layer) \
  _(_weight_norm_interface) _(_fft_c2c) _(_fft_r2c) _(_fft_c2r) _(linalg_cholesky_ex) _(linalg_inv_ex) \
  _(linalg_qr) _(linalg_lu_factor_ex) _(linalg_lu_solve) _(linalg_solve_triangular) _(_linalg_solve_ex) \
  _(_linalg_det) _(_linalg_slogdet) _(_linalg_svd) _(_linalg_eigh) _(complex) _(polar) _(view_as_real_copy) \
  _(bernoulli) _(bernoulli_p) _(multinomial) _(normal_Tensor_Tensor) _(normal_Tensor_float) _(normal_float_Tensor) \
  _(poisson) _(_standard_gamma)

INSTALLS(install_forward_operators, OPERATORS)
