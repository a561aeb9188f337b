"""The package ``flash_attn_3``."""
