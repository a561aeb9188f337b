"""flash_attn 3, which has its own module, ``flash_attn_interface``."""
