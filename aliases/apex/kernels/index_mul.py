"""Products of chosen rows, in float32 and rounded, with the gradients of both orders."""

from __future__ import annotations

import torch
from torch import Tensor


def forward(out: Tensor, in1: Tensor, in2: Tensor, idx1: Tensor, /) -> None:
    """Write ``in1[idx1] * in2`` to ``out``; all but the indices of shape (rows, columns)."""
    out.copy_(in1[idx1].float() * in2.float())


def backward(
    grad_in1: Tensor, grad_in2: Tensor, grad_out: Tensor, in1: Tensor, in2: Tensor, idx1: Tensor, /
) -> None:
    """Add the gradient of ``in1`` to ``grad_in1``, and write that of ``in2`` to ``grad_in2``."""
    _add_rows(grad_in1, idx1, grad_out.float() * in2.float())
    grad_in2.copy_(grad_out.float() * in1[idx1].float())


def backward_backward(
    grad_grad_out: Tensor,
    grad_in1: Tensor,
    grad_in2: Tensor,
    grad_out: Tensor,
    grad_grad_in1: Tensor,
    grad_grad_in2: Tensor,
    in1: Tensor,
    in2: Tensor,
    idx1: Tensor,
    /,
) -> None:
    """Compute the gradients of what ``backward`` computes from: added to ``grad_in1``, else written."""
    of_rows = grad_grad_in1[idx1].float()
    grad_grad_out.copy_(of_rows * in2.float() + in1[idx1].float() * grad_grad_in2.float())
    _add_rows(grad_in1, idx1, grad_out.float() * grad_grad_in2.float())
    grad_in2.copy_(grad_out.float() * of_rows)


def _add_rows(target: Tensor, indices: Tensor, rows: Tensor) -> None:
    target.copy_(target.float().index_add(0, indices, rows))


def check(in1: Tensor, in2: Tensor, idx1: Tensor) -> None:
    """Check shapes and dtypes.

    Raises:
        RuntimeError: If one is not as it must be.
    """
    assert in2.size(0) == idx1.size(0)
    if in1.dtype not in (torch.float32, torch.half) or in2.dtype != in1.dtype:
        raise RuntimeError(
            "input1'dtype and input2's dtype must be fp32 or fp16. And input type must be same"
        )
    if in1.dim() != 2 or in2.dim() != 2:
        raise RuntimeError("in1 and in2 must be 2-dimension tensor.")
    if idx1.dim() != 1:
        raise RuntimeError("idx1 must be 1-dimension tensor.")
