"""Biases of batches whose sequences have one length."""

from __future__ import annotations

from typing import Any, TypeVar

import torch
from torch import Tensor

from morph.aliases.attention import Part

from .windows import CAUSAL_FROM_START, materialized

Bias = TypeVar("Bias", bound="AttentionBias")


class AttentionBias:
    """What is added to the scores of attention, mostly 0 and minus infinity, without a matrix."""

    window: Any
    """The keys that a query sees."""

    def to(self: Bias, device: torch.device) -> Bias:
        """Return it on ``device``."""
        return self

    def parts(self, queries: int, keys: int) -> list[Part]:
        """Return which of ``queries`` queries see which of ``keys`` keys."""
        raise NotImplementedError(f"{type(self).__name__} has no parts")

    def materialize(
        self, shape: tuple[int, ...], dtype: torch.dtype = torch.float32, device: str | torch.device = "cpu"
    ) -> Tensor:
        """Return the bias as a matrix of ``shape`` (..., queries, keys)."""
        try:
            parts = self.parts(*shape[-2:])
        except NotImplementedError:
            raise NotImplementedError from None
        return materialized(parts, shape, dtype, device)


class _WholeBias(AttentionBias):
    """A bias that is one window."""

    def parts(self, queries: int, keys: int) -> list[Part]:
        """Return one part."""
        return [self.window.part(slice(0, queries), slice(0, keys))]


class LowerTriangularMask(_WholeBias):
    """A query sees the keys up to its own position, counted from the first ones.

    Args:
        device: Without effect.
    """

    window = CAUSAL_FROM_START

    def __init__(self, device: torch.device | None = None) -> None:
        pass

    def add_bias(self, bias: Tensor) -> LowerTriangularMaskWithTensorBias:
        """Return this mask together with the matrix ``bias``."""
        return LowerTriangularMaskWithTensorBias(bias)


class LowerTriangularMaskWithTensorBias(LowerTriangularMask):
    """A causal mask and a matrix.

    Args:
        bias: Of shape (batch, heads, queries, keys).
    """

    def __init__(self, bias: Tensor) -> None:
        self._bias = bias

    def to(self, device: torch.device) -> LowerTriangularMaskWithTensorBias:
        """Return it on ``device``."""
        return LowerTriangularMaskWithTensorBias(self._bias.to(device))

    def materialize(
        self, shape: tuple[int, ...], dtype: torch.dtype = torch.float32, device: str | torch.device = "cpu"
    ) -> Tensor:
        """Return the mask and the matrix added, as a matrix of ``shape`` (..., queries, keys)."""
        return super().materialize(shape, dtype, device) + self._bias
