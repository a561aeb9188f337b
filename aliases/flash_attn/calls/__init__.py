"""The functions of the extension module ``flash_attn_2_cuda``, with its arguments, checks and results."""
