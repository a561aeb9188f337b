"""What the functions of flash_attn are made of here: options, operators, kernels."""
