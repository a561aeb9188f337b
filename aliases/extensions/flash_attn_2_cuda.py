"""The extension module of flash_attn: what its Python code calls to compute."""

from flash_attn.calls.cache import fwd_kvcache
from flash_attn.calls.dense import bwd, fwd
from flash_attn.calls.packed import varlen_bwd, varlen_fwd

__all__ = ["bwd", "fwd", "fwd_kvcache", "varlen_bwd", "varlen_fwd"]
