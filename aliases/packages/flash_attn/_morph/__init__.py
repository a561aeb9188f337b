"""The implementation of flash_attn's functions: options, operators, kernels."""
