"""flash_attn 3 as a package."""
