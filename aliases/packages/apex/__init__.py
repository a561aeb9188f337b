"""NVIDIA's apex on any accelerator, including features that newer releases have removed."""

from . import amp, fp16_utils, normalization, optimizers, parallel, transformer

__all__ = ["amp", "fp16_utils", "normalization", "optimizers", "parallel", "transformer"]
