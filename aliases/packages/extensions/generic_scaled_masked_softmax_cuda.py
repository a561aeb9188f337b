"""The functions of apex's extension ``generic_scaled_masked_softmax_cuda``."""

from apex.kernels.scaled_softmax import backward
from apex.kernels.scaled_softmax import masked_forward as forward

__all__ = ["backward", "forward"]
