"""Rewrites CUDA-only source to device-agnostic PyTorch, with its formatting and comments kept.

What is rewritten is what ``morph check`` finds, by the facts of ``replacements.toml``; what is not is told
with its line. The result needs neither morph nor CUDA: it runs on the accelerator that there is, or the CPU.
"""
