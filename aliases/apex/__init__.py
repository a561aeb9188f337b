"""NVIDIA's apex, on any accelerator: what it is now, and what was in it before."""

from . import amp, fp16_utils, normalization, optimizers, parallel

__all__ = ["amp", "fp16_utils", "normalization", "optimizers", "parallel"]
