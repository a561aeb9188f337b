"""The functions of apex's extension ``xentropy_cuda``."""
# ruff: noqa: F401 (the imported names are part of the interface)

from apex.contrib.xentropy.softmax_xentropy import backward, forward

__version__ = ""
