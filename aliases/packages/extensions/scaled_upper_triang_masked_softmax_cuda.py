"""The functions of apex's extension ``scaled_upper_triang_masked_softmax_cuda``."""
# ruff: noqa: F401 (the imported names are part of the interface)

from apex.kernels.scaled_softmax import backward
from apex.kernels.scaled_softmax import causal_forward as forward
