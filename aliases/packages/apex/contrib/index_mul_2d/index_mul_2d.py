"""Products of chosen rows, differentiable any number of times."""

from __future__ import annotations

import torch
from torch import Tensor

from ...kernels.tensor_lists import require


def _index_mul_2d(in1: Tensor, in2: Tensor, idx1: Tensor) -> Tensor:
    """Return ``in1[idx1] * in2``; it and the sums of its gradients are computed in float32.

    Args:
        in1: Of shape (rows, columns), float32 or float16.
        in2: Of shape (products, columns), in the same dtype.
        idx1: A row of ``in1`` for each product, of shape (products,).

    Raises:
        RuntimeError: If a shape or dtype is invalid.
    """
    assert in2.size(0) == idx1.size(0)
    types = "input1'dtype and input2's dtype must be fp32 or fp16. And input type must be same"
    require(in1.dtype in (torch.float32, torch.half) and in2.dtype == in1.dtype, types)
    require(in1.dim() == in2.dim() == 2, "in1 and in2 must be 2-dimension tensor.")
    require(idx1.dim() == 1, "idx1 must be 1-dimension tensor.")
    return (in1.float().index_select(0, idx1) * in2.float()).to(in1.dtype)


class IndexMul2d_:
    """``in1[idx1] * in2``, which torch differentiates: ``apply(in1, in2, idx1)``."""

    apply = staticmethod(_index_mul_2d)


index_mul_2d = IndexMul2d_.apply
