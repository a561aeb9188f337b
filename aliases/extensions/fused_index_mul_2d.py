"""What apex's extension ``fused_index_mul_2d`` offers."""

from apex.kernels.index_mul import backward as float_backward
from apex.kernels.index_mul import backward as half_backward
from apex.kernels.index_mul import backward_backward as float_backward_backward
from apex.kernels.index_mul import backward_backward as half_backward_backward
from apex.kernels.index_mul import forward as float_forward
from apex.kernels.index_mul import forward as half_forward

__all__ = [
    "float_backward",
    "float_backward_backward",
    "float_forward",
    "half_backward",
    "half_backward_backward",
    "half_forward",
]
