"""flash_attn 4, by the same kernels as flash_attn 2."""

from .interface import flash_attn_func, flash_attn_varlen_func

__version__ = "0.0.0"  # as upstream's, whatever is installed

__all__ = ["flash_attn_func", "flash_attn_varlen_func"]
