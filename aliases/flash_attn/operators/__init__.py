"""The operators ``torch.ops.flash_attn.*``."""
