"""The arguments of a call of attention, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .biases import AttentionBias, LowerTriangularMask, LowerTriangularMaskWithTensorBias
from .packed import BlockDiagonalMask, PackedBias

Bias = Tensor | AttentionBias | None


@dataclass
class Inputs:
    """The arguments of attention.

    Attributes:
        query: Of shape (batch, queries, head size), (batch, queries, heads, head size), or (batch, queries,
            groups, heads of a group, head size).
        key: Likewise.
        value: Likewise.
        attn_bias: What is added to the scores.
        p: The probability that a weight is dropped.
        scale: The factor of the scores; None for 1 / sqrt(head size).
        output_dtype: The dtype of the output; None for the queries', or float32 if ``is_partial``.
        is_partial: Whether other keys will be attended to by other calls.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    attn_bias: Bias = None
    p: float = 0.0
    scale: float | None = None
    output_dtype: torch.dtype | None = None
    is_partial: bool = False

    @property
    def device(self) -> torch.device:
        """The queries' device."""
        return self.query.device

    @property
    def scale_float(self) -> float:
        """The factor of the scores."""
        return float(self.query.shape[-1] ** -0.5) if self.scale is None else self.scale

    @property
    def matrix(self) -> Tensor | None:
        """The matrix that is added to the scores."""
        bias = self.attn_bias
        return bias._bias if isinstance(bias, LowerTriangularMaskWithTensorBias) else _tensor(bias)

    def get_output_dtype(self) -> torch.dtype:
        """Return the dtype of the output."""
        if self.output_dtype is not None:
            return self.output_dtype
        partial = self.is_partial and self.query.dtype is not torch.float64
        return torch.float32 if partial else self.query.dtype

    def normalize_bmhk(self) -> tuple[int, ...]:
        """Give tensors without heads a dimension of one head, and return the output's shape before."""
        if self.query.ndim not in (3, 4, 5):
            raise ValueError(f"Invalid shape for query: {tuple(self.query.shape)}")
        shape = (*self.query.shape[:-1], self.value.shape[-1])
        if self.query.ndim == 3:
            self.query, self.key, self.value = (x.unsqueeze(2) for x in (self.query, self.key, self.value))
            matrix = self.matrix
            if matrix is not None:
                self.attn_bias = _with_matrix(self.attn_bias, matrix.unsqueeze(1))
        return shape

    def validate_inputs(self) -> None:
        """Reject tensors that do not fit each other.

        Raises:
            ValueError: If they do not.
        """
        tensors = self.query, self.key, self.value
        if self.query.ndim not in (3, 4, 5) or any(each.ndim != self.query.ndim for each in tensors):
            raise ValueError(self._saying("Query/Key/Value should all have BMGHK, BMHK or BMK shape."))
        if any(each.device != self.query.device for each in tensors):
            raise ValueError("Query/Key/Value should all be on the same device")
        if any(each.dtype != self.query.dtype for each in tensors):
            dtypes = ", ".join(str(each.dtype) for each in tensors)
            raise ValueError(f"Query/Key/Value should have the same dtype, not {dtypes}")
        if not 0.0 <= self.p <= 1.0:
            raise ValueError(f"Invalid dropout probability: p={self.p}")
        self._require_bias()
        self._require_shapes()

    def _require_bias(self) -> None:
        bias = self.attn_bias
        if isinstance(bias, PackedBias) and bias.q_seqinfo.seqstart.device != self.query.device:
            where = bias.q_seqinfo.seqstart.device
            raise ValueError(
                f"attn_bias is on {where}, and the queries are on {self.query.device}: use .to()"
            )
        if self.query.ndim == 3 and not is_bias_of_three_dimensions(type(bias)):
            raise ValueError(f"{type(bias).__name__} wants inputs in BMHK format rather than BMK")
        if isinstance(bias, BlockDiagonalMask) and len(self.query) != 1:
            raise ValueError(self._saying("Expected batch_size=1 when using block-diagonal bias"))
        matrix = self.matrix
        if matrix is None:
            return
        if matrix.dtype != self.query.dtype:
            raise ValueError(f"attn_bias is of {matrix.dtype}, and the queries are of {self.query.dtype}")
        batch, queries, *heads, _ = self.query.shape
        expected = (batch, *heads, queries, self.key.shape[1])
        if self.query.ndim == 4 and tuple(matrix.shape) != expected:
            shape = tuple(matrix.shape)
            raise ValueError(f"Invalid shape for attention bias: {shape} (expected {expected})")

    def _require_shapes(self) -> None:
        batch, _, *heads, size = self.query.shape
        keys = self.key.shape[1]
        if (
            tuple(self.key.shape) == (batch, keys, *heads, size)
            and self.value.shape[:-1] == self.key.shape[:-1]
        ):
            return
        hint = "We don't support broadcasting, please use `expand` yourself"
        raise ValueError(self._saying(f"Incompatible shapes for attention inputs ({hint}):"))

    def _saying(self, what: str) -> str:
        shapes = {"query": self.query.shape, "key": self.key.shape, "value": self.value.shape}
        return "\n".join([what, *(f"  {name}.shape: {tuple(shape)}" for name, shape in shapes.items())])


def is_bias_of_three_dimensions(bias_type: Any) -> bool:
    """Return whether a bias of this type goes with tensors without heads."""
    return bias_type in (type(None), LowerTriangularMask, Tensor)


def is_varlen(bias: Any) -> bool:
    """Return whether ``bias`` is of sequences of different lengths."""
    return isinstance(bias, PackedBias)


def _tensor(bias: Bias) -> Tensor | None:
    return bias if isinstance(bias, Tensor) else None


def _with_matrix(bias: Bias, matrix: Tensor) -> Bias:
    return matrix if isinstance(bias, Tensor) else LowerTriangularMaskWithTensorBias(matrix)
