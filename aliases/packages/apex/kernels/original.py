"""The signatures of apex's functions and classes, with the types of their parameters."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from morph.aliases.recorded import Recording

_NAMES = {
    float: (
        "lr momentum dampening weight_decay eps max_grad_norm gradient_predivide_factor scale_window "
        "static_loss_scale init_scale scale_factor min_loss_scale max_loss_scale scale"
    ),
    int: "norm_type num_features num_groups num_channels num_losses verbosity message_size",
    bool: (
        "bias_correction adam_w_mode adagrad_w_mode amsgrad set_grad_none capturable master_weights nesterov "
        "grad_averaging use_nvlamb reg_inside_moment init_zero wd_after_momentum materialize_master_grads "
        "affine track_running_stats channel_last fuse_relu delay_allreduce retain_allreduce_buffers "
        "allreduce_always_fp32 gradient_average prof enabled dynamic_loss_scale verbose memory_efficient "
        "input_in_fp16 input_in_bf16 scaled_masked_softmax_fusion softmax_in_fp32"
    ),
    tuple[float, float]: "betas",
    torch.dtype: "reduced_precision_dtype cast_model_type cast_model_outputs",
    Tensor: "input weight bias",
    nn.Module: "module",
}
TYPES = {name: kind for kind, names in _NAMES.items() for name in names.split()}

_RECORDING = Recording("apex", TYPES, {})
recorded, initializer = _RECORDING.functions, _RECORDING.initializers
