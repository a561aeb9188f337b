"""Normalization with dropout, a residual, a second input and a second weight."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..._morph.original import initializer, recorded
from ..normalization import Norm, normalized, residual_dtype

_of_layer_norm, _initializer = recorded(__name__), initializer(__name__)


@_of_layer_norm
def layer_norm_fn(
    x: Tensor,
    weight: Tensor,
    residual: Tensor | None,
    x1: Tensor | None,
    weight1: Tensor | None,
    rowscale: Tensor | None,
    zero_centered_weight: bool,
    prenorm: bool,
    residual_in_fp32: bool,
    return_dropout_mask: bool,
    out: Tensor | None,
    residual_out: Tensor | None,
    **options: Any,
) -> Any:
    """Apply dropout to the inputs, ``x`` scaled by row, add them and a residual up, and normalize the sum.

    With ``weight1`` there is a second result; ``out`` and ``residual_out`` receive the result and the sum.

    Returns:
        The result, in ``out_dtype`` or the dtype of ``x``; the second one if there is a ``weight1``; the sum
        with ``prenorm``, in the dtype of the residual, or without one float32 if ``residual_in_fp32``; and
        with ``return_dropout_mask`` bool masks of the kept elements of ``x`` and ``x1``; alone or in a tuple.
    """
    assert residual is None or residual.shape == x.shape
    assert x1 is None or x1.shape == x.shape
    assert x1 is None or rowscale is None, "rowscale is not supported with parallel LayerNorm"
    offset = 1 if zero_centered_weight else 0
    options |= {"residual": residual, "x1": x1, "rowscale": rowscale}
    options["weight1"] = None if weight1 is None else weight1 + offset
    results, total, *kept = normalized(x, weight + offset, **options)
    results[0] = _delivered(results[0], out)
    if prenorm:
        results.append(_delivered(total.to(residual_dtype(x, residual, residual_in_fp32)), residual_out))
    if return_dropout_mask:
        return *results, *kept
    return tuple(results) if len(results) > 1 else results[0]


@_of_layer_norm
def rms_norm_fn(**arguments: Any) -> Any:
    """Do what :func:`layer_norm_fn` does, without subtracting the mean."""
    return layer_norm_fn(**arguments, is_rms_norm=True)


class RMSNorm(Norm):
    """Root mean square normalization with dropout and a residual; see :func:`layer_norm_fn`."""

    @_initializer
    def __init__(
        self, hidden_size: int, eps: float, dropout_p: float, zero_centered_weight: bool, **where: Any
    ) -> None:
        super().__init__()
        self.eps, self.zero_centered_weight = eps, zero_centered_weight
        self.drop = torch.nn.Dropout(dropout_p) if dropout_p > 0.0 else None
        self.start = 0.0 if zero_centered_weight else 1.0
        self.make(hidden_size, False, **where)

    def forward(
        self,
        x: Tensor,
        residual: Tensor | None = None,
        prenorm: bool = False,
        residual_in_fp32: bool = False,
    ) -> Any:
        """Normalize ``x + residual``; see :func:`layer_norm_fn`."""
        dropout_p = self.drop.p if self.drop is not None and self.training else 0.0
        options = {"prenorm": prenorm, "residual_in_fp32": residual_in_fp32, "dropout_p": dropout_p}
        options |= {"eps": self.eps, "zero_centered_weight": self.zero_centered_weight}
        return rms_norm_fn(x, self.weight, None, residual, **options)


def _delivered(result: Tensor, target: Tensor | None) -> Tensor:
    return result if target is None else target.copy_(result)
