"""The functions of apex's extension ``xentropy_cuda``."""

from apex.kernels.xentropy import backward, forward

__all__ = ["backward", "forward"]

__version__ = ""
