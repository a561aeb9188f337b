"""What apex's extension ``mlp_cuda`` offers."""

from apex.kernels.dense import mlp_backward as backward
from apex.kernels.dense import mlp_forward as forward

__all__ = ["backward", "forward"]
