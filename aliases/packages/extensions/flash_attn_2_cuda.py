"""The extension module of flash_attn: what its Python code calls to compute."""

from flash_attn._morph.extension import bwd, fwd, fwd_kvcache, varlen_bwd, varlen_fwd

__all__ = ["bwd", "fwd", "fwd_kvcache", "varlen_bwd", "varlen_fwd"]
