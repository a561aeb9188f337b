"""Accumulated gradients of weights."""

from __future__ import annotations

from torch import Tensor


def wgrad_gemm_accum(input: Tensor, d_output: Tensor, d_weight: Tensor, /) -> None:
    """Add the gradient of a weight to ``d_weight``, in its dtype.

    Args:
        input: The layer's input, of shape (..., in).
        d_output: The gradient of its output, of shape (..., out).
        d_weight: The gradient so far, of shape (out, in).
    """
    rows, of_rows = (each.flatten(0, -2).to(d_weight.dtype) for each in (input, d_output))
    d_weight.addmm_(of_rows.t(), rows)
