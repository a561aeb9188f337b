"""The functions of apex's extension ``scaled_masked_softmax_cuda``."""

from apex.kernels.scaled_softmax import backward, get_batch_per_block
from apex.kernels.scaled_softmax import masked_forward as forward

__all__ = ["backward", "forward", "get_batch_per_block"]
