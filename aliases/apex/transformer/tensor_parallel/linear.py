"""The linear function of parallel layers, which overlaps communication with computation."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional as F

from ..._autocast_utils import _cast_if_autocast_enabled
from ...kernels.dense import wgrad_gemm_accum
from ..ranks import get_tensor_model_parallel_group
from .mappings import _gather_along_first_dim, _reduce_scatter_along_first_dim


class LinearWithGradAccumulationAndAsyncCommunication(torch.autograd.Function):
    """A linear layer: ``apply`` takes what ``linear_with_grad_accumulation_and_async_allreduce`` takes."""

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        gradient_accumulation_fusion: bool,
        async_grad_allreduce: bool,
        sequence_parallel_enabled: bool,
        use_16bit_in_wgrad_accum_fusion: bool | None = None,
    ) -> Tensor:
        """Return the output."""
        if use_16bit_in_wgrad_accum_fusion is not None:
            warnings.warn("`use_16bit_in_wgrad_accum_fusion` is deprecated", stacklevel=2)
        ctx.save_for_backward(input, weight)
        ctx.options = gradient_accumulation_fusion, async_grad_allreduce, sequence_parallel_enabled
        ctx.use_bias = bias is not None
        whole = _gather_along_first_dim(input) if sequence_parallel_enabled else input
        return F.linear(whole, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of input, weight and bias."""
        input, weight = ctx.saved_tensors
        fusion, asynchronous, by_sequence = ctx.options
        assert not (asynchronous and by_sequence)
        grad_input = grad_output @ weight
        work: Any = None
        if asynchronous:
            work = dist.all_reduce(grad_input, group=get_tensor_model_parallel_group(), async_op=True)
        grad_weight = grad_bias = None
        if ctx.needs_input_grad[1]:
            whole = _gather_along_first_dim(input) if by_sequence else input
            grad_weight = _grad_of_weight(whole, grad_output, weight, fusion)
            grad_bias = grad_output.flatten(0, -2).sum(0) if ctx.use_bias else None
        if work is not None:
            work.wait()
        if by_sequence:
            grad_input = _reduce_scatter_along_first_dim(grad_input)
        return grad_input, grad_weight, grad_bias, None, None, None, None


def _grad_of_weight(input: Tensor, grad_output: Tensor, weight: Tensor, fusion: bool) -> Tensor | None:
    """Return the gradient, or add it to ``weight.main_grad``."""
    if not fusion:
        return grad_output.flatten(0, -2).t() @ input.flatten(0, -2)
    if not hasattr(weight, "main_grad"):
        raise RuntimeError(
            "attempted to perform gradient accumulation fusion on param without setting main_grad"
        )
    if weight.main_grad.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise RuntimeError(f"unsupported dtype for main_grad ({weight.main_grad.dtype})")
    wgrad_gemm_accum(input, grad_output, weight.main_grad)
    return None


def linear_with_grad_accumulation_and_async_allreduce(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    gradient_accumulation_fusion: bool,
    async_grad_allreduce: bool,
    sequence_parallel_enabled: bool,
) -> Tensor:
    """Compute a linear layer.

    Args:
        input: Of shape (sequence, batch, in).
        weight: Of shape (out, in).
        bias: Of shape (out,), or None.
        gradient_accumulation_fusion: Whether the weight's gradient is added to ``weight.main_grad``.
        async_grad_allreduce: Whether the input's gradient is added up over the tensor-parallel group.
        sequence_parallel_enabled: Whether each process has a part of the sequence.

    Returns:
        The output, of shape (sequence, batch, out).
    """
    options = gradient_accumulation_fusion, async_grad_allreduce, sequence_parallel_enabled
    args = _cast_if_autocast_enabled(input, weight, bias, *options)
    apply: Any = LinearWithGradAccumulationAndAsyncCommunication.apply
    with torch.amp.autocast("cuda", enabled=False):
        output: Tensor = apply(*args)
    return output
