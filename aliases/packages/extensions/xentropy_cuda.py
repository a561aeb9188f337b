"""The functions of apex's extension ``xentropy_cuda``."""

from apex.contrib.xentropy.softmax_xentropy import backward, forward

__all__ = ["backward", "forward"]

__version__ = ""
