"""flash_attn 4, with the same kernels as flash_attn 2."""

from .interface import flash_attn_func, flash_attn_varlen_func

__version__ = "0.0.0"  # upstream's value in every installation

__all__ = ["flash_attn_func", "flash_attn_varlen_func"]
