"""flash_attn 3, which came with a module of its own, ``flash_attn_interface``."""
