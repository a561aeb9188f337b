// The hot operators of backward passes.
#include "operators/unboxed.h"

#include <ATen/Operators.h>

#define OPERATORS(_) \
  _(_softmax_backward_data) _(_log_softmax_backward_data) _(gelu_backward) _(elu_backward) _(glu_backward) \
  _(mish_backward) \
  _(hardtanh_backward) _(hardsigmoid_backward) _(hardswish_backward) _(hardshrink_backward) _(leaky_relu_backward) \
  _(log_sigmoid_backward) _(softplus_backward) _(softshrink_backward) _(threshold_backward) \
  _(_prelu_kernel_backward) _(sigmoid_backward) _(tanh_backward) _(logit_backward) _(native_layer_norm_backward) \
  _(native_batch_norm_backward) _(batch_norm_backward) _(native_group_norm_backward) _(native_dropout_backward) \
  _(embedding_dense_backward) _(_embedding_bag_dense_backward) _(_embedding_bag_per_sample_weights_backward) \
  _(max_pool2d_with_indices_backward) _(max_pool3d_with_indices_backward) _(avg_pool2d_backward) \
  _(avg_pool3d_backward) _(_adaptive_avg_pool2d_backward) _(_adaptive_avg_pool3d_backward) \
  _(adaptive_max_pool2d_backward) _(upsample_nearest1d_backward) _(upsample_nearest2d_backward) \
  _(upsample_nearest3d_backward) _(upsample_linear1d_backward) _(upsample_bilinear2d_backward) \
  _(upsample_bicubic2d_backward) _(upsample_trilinear3d_backward) _(_upsample_nearest_exact2d_backward) \
  _(_upsample_bilinear2d_aa_backward) _(grid_sampler_2d_backward) _(grid_sampler_3d_backward) _(nll_loss_backward) \
  _(nll_loss2d_backward) _(mse_loss_backward) _(smooth_l1_loss_backward) _(huber_loss_backward) \
  _(binary_cross_entropy_backward) _(_ctc_loss_backward) _(_ctc_loss_backward_Tensor) _(_cdist_backward) \
  _(_masked_softmax_backward) _(_scaled_dot_product_flash_attention_for_cpu_backward) _(mkldnn_rnn_layer_backward) \
  _(_weight_norm_interface_backward) _(slice_backward) _(select_backward) _(diagonal_backward) \
  _(reflection_pad1d_backward) _(reflection_pad2d_backward) _(replication_pad1d_backward) \
  _(replication_pad2d_backward)

INSTALLS(install_backward_operators, OPERATORS)
