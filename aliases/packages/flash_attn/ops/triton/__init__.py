"""flash_attn's Triton functions in PyTorch."""
