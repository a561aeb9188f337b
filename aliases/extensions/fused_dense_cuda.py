"""What apex's extension ``fused_dense_cuda`` offers."""

from apex.kernels.dense import (
    linear_bias_backward,
    linear_bias_forward,
    linear_gelu_linear_backward,
    linear_gelu_linear_forward,
)

__all__ = [
    "linear_bias_backward",
    "linear_bias_forward",
    "linear_gelu_linear_backward",
    "linear_gelu_linear_forward",
]
