"""What flash_attn computes with Triton, in PyTorch."""
