"""The extension module of flash_attn, with the functions that its Python code calls."""

from flash_attn._morph.extension import bwd, fwd, fwd_kvcache, varlen_bwd, varlen_fwd

__all__ = ["bwd", "fwd", "fwd_kvcache", "varlen_bwd", "varlen_fwd"]
