"""Rewrites CUDA-only source to device-agnostic PyTorch, with its formatting and comments kept.

It rewrites the uses that ``morph check`` finds, by ``replacements.toml``, and reports the others with their
lines. The result needs neither morph nor CUDA: it runs on any accelerator, or on the CPU.
"""
