"""The extension module of flash_attn, with the functions that its Python code calls."""
# ruff: noqa: F401 (the imported names are part of the interface)

from flash_attn._morph.extension import bwd, fwd, fwd_kvcache, varlen_bwd, varlen_fwd
