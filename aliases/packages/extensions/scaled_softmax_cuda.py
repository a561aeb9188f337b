"""The functions of apex's extension ``scaled_softmax_cuda``."""

from apex.kernels.scaled_softmax import backward, forward

__all__ = ["backward", "forward"]
