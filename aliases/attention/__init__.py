"""Attention: one request with every option, computed by the device's own kernel if it does exactly this."""

from .kernels import as_one_kernel, direct, full_precision
from .options import Attention
from .places import Part
from .request import Request

__all__ = ["Attention", "Part", "Request", "as_one_kernel", "direct", "full_precision"]
