"""The functions of apex's extension ``fused_rotary_positional_embedding``."""

from apex.kernels.rope import (
    backward,
    backward_2d,
    backward_cached,
    backward_thd,
    forward,
    forward_2d,
    forward_cached,
    forward_thd,
)

__all__ = [
    "backward",
    "backward_2d",
    "backward_cached",
    "backward_thd",
    "forward",
    "forward_2d",
    "forward_cached",
    "forward_thd",
]
