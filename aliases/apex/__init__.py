"""NVIDIA's apex, on any accelerator: what it is now, and what was in it before."""

from . import optimizers

__all__ = ["optimizers"]
