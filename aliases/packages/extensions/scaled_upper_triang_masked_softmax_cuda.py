"""The functions of apex's extension ``scaled_upper_triang_masked_softmax_cuda``."""

from apex.kernels.scaled_softmax import backward
from apex.kernels.scaled_softmax import causal_forward as forward

__all__ = ["backward", "forward"]
