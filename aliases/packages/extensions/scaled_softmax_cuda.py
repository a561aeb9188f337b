"""What apex's extension ``scaled_softmax_cuda`` offers."""

from apex.kernels.scaled_softmax import backward, forward

__all__ = ["backward", "forward"]
