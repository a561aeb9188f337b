"""The functions of apex's extension ``scaled_softmax_cuda``."""
# ruff: noqa: F401 (the imported names are part of the interface)

from apex.kernels.scaled_softmax import backward, forward
