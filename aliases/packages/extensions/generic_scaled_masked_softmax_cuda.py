"""The functions of apex's extension ``generic_scaled_masked_softmax_cuda``."""
# ruff: noqa: F401 (the imported names are part of the interface)

from apex.kernels.scaled_softmax import backward
from apex.kernels.scaled_softmax import masked_forward as forward
