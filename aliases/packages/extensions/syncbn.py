"""The functions of apex's extension ``syncbn``."""

from apex.kernels.sync_batch_norm import (
    batchnorm_backward,
    batchnorm_backward_c_last,
    batchnorm_forward,
    batchnorm_forward_c_last,
    reduce_bn,
    reduce_bn_c_last,
    relu_bw_c_last,
    welford_mean_var,
    welford_mean_var_c_last,
    welford_parallel,
)

__all__ = [
    "batchnorm_backward",
    "batchnorm_backward_c_last",
    "batchnorm_forward",
    "batchnorm_forward_c_last",
    "reduce_bn",
    "reduce_bn_c_last",
    "relu_bw_c_last",
    "welford_mean_var",
    "welford_mean_var_c_last",
    "welford_parallel",
]
