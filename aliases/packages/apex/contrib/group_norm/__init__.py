"""Normalisation of groups of channels, with an activation."""

from .group_norm import GroupNorm

__all__ = ["GroupNorm"]
