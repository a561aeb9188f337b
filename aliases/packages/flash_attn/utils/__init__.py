"""Helpers of flash_attn's other modules."""
