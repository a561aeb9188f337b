"""Serves whole packages that cannot be installed: flash_attn, apex, pynvml."""
