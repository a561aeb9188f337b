"""Products of chosen rows, which can be differentiated twice."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...kernels import index_mul


class IndexMul2d_(torch.autograd.Function):
    """``in1[idx1] * in2``: ``apply(in1, in2, idx1)``."""

    @staticmethod
    def forward(ctx: Any, in1: Tensor, in2: Tensor, idx1: Tensor) -> Tensor:
        """Return the products, of the shape of ``in2``."""
        index_mul.check(in1, in2, idx1)
        out = torch.empty_like(in2)
        index_mul.forward(out, in1, in2, idx1)
        ctx.save_for_backward(in1, in2, idx1)
        return out

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of both factors."""
        return *index_mul_2d_backward(*ctx.saved_tensors, grad_out), None


class IndexMul2dBackward_(torch.autograd.Function):
    """The gradients of both factors: ``apply(in1, in2, idx1, grad_out)``."""

    @staticmethod
    def forward(ctx: Any, in1: Tensor, in2: Tensor, idx1: Tensor, grad_out: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients."""
        grad_in1, grad_in2 = torch.zeros_like(in1), torch.empty_like(in2)
        index_mul.backward(grad_in1, grad_in2, grad_out, in1, in2, idx1)
        ctx.save_for_backward(in1, in2, idx1, grad_out)
        return grad_in1, grad_in2

    @staticmethod
    def backward(ctx: Any, grad_grad_in1: Tensor, grad_grad_in2: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of both factors and of the first gradient."""
        in1, in2, idx1, grad_out = ctx.saved_tensors
        grad_in1, grad_in2 = torch.zeros_like(in1), torch.empty_like(in2)
        grad_grad_out = torch.empty_like(grad_out)
        index_mul.backward_backward(
            grad_grad_out, grad_in1, grad_in2, grad_out, grad_grad_in1, grad_grad_in2, in1, in2, idx1
        )
        return grad_in1, grad_in2, None, grad_grad_out


index_mul_2d = IndexMul2d_.apply
index_mul_2d_backward: Any = IndexMul2dBackward_.apply
