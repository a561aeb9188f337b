"""NVIDIA's apex, on any accelerator: what it is now, and what was in it before."""

from . import normalization, optimizers

__all__ = ["normalization", "optimizers"]
