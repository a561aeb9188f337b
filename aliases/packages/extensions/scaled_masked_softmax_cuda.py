"""The functions of apex's extension ``scaled_masked_softmax_cuda``."""
# ruff: noqa: F401 (the imported names are part of the interface)

from apex.kernels.scaled_softmax import backward, get_batch_per_block
from apex.kernels.scaled_softmax import masked_forward as forward
