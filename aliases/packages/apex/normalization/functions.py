"""The autograd functions, which can save the output for the backward pass instead of the input.

``apply`` uses torch's own function, which is faster, unless ``memory_efficient`` is true.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..kernels import layer_norm, rms_norm
from ..kernels.tensor_lists import check_same_dtype

Shape = Sequence[int]


class TorchsUnlessSaving(torch.autograd.Function):
    """A function that uses torch's own unless its last argument is true, which saves memory.

    A subclass defines ``torchs``, which takes the arguments except ``memory_efficient``.
    """

    torchs: Any

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Return the output; ``memory_efficient`` is optional."""
        count: int = cls.torchs.__code__.co_argcount
        if any(args[count:]):
            return super().apply(*args)  # type: ignore[no-untyped-call]
        return cls.torchs(*args[:count])


def kept(
    ctx: Any, kernel: Callable[..., Any], tensors: Sequence[Tensor], shape: Shape, eps: float, saving: bool
) -> Tensor:
    """Return a kernel's output for the input and its parameters, and save what ``differentiated`` needs."""
    input, *params = (tensor.contiguous() for tensor in tensors)
    output, *statistics = kernel(input, shape, *params, eps)
    if saving:  # the backward pass from the output needs no mean
        statistics[:-1] = [None] * (len(statistics) - 1)
    ctx.save_for_backward(output if saving else input, *params, *statistics)
    ctx.params, ctx.options = len(params), (shape, eps, saving)
    return output  # type: ignore[no-any-return]


def differentiated(ctx: Any, kernel: Callable[..., Any], grad: Tensor) -> tuple[Tensor | None, ...]:
    """Return a kernel's gradients for the tensors passed to ``kept``, and None for the options."""
    input_or_output, *others = ctx.saved_tensors
    params, statistics = others[: ctx.params], others[ctx.params :]
    shape, eps, saving = ctx.options
    grads = kernel(grad.contiguous(), *statistics, input_or_output, shape, *params, eps, saving)
    return *(grads if params else (grads,)), None, None, None


def _same_dtype_layer_norm(
    input: Tensor, weight: Tensor, bias: Tensor, normalized_shape: Shape, eps: float
) -> Tensor:
    check_same_dtype(input, weight, bias)
    return layer_norm.layer_norm(input, normalized_shape, weight, bias, eps)


def _same_dtype_rms_norm(input: Tensor, weight: Tensor, normalized_shape: Shape, eps: float) -> Tensor:
    check_same_dtype(input, weight)
    return rms_norm.rms_norm(input, normalized_shape, weight, eps)


def _mixed_layer_norm(
    input: Tensor, weight: Tensor, bias: Tensor, normalized_shape: Shape, eps: float
) -> Tensor:
    return layer_norm.layer_norm(input, normalized_shape, weight, bias, eps)


def _mixed_rms_norm(input: Tensor, weight: Tensor, normalized_shape: Shape, eps: float) -> Tensor:
    return rms_norm.rms_norm(input, normalized_shape, weight, eps)


def _plain_layer_norm(input: Tensor, normalized_shape: Shape, eps: float) -> Tensor:
    return layer_norm.layer_norm(input, normalized_shape, None, None, eps)


def _plain_rms_norm(input: Tensor, normalized_shape: Shape, eps: float) -> Tensor:
    return rms_norm.rms_norm(input, normalized_shape, None, eps)


class FusedLayerNormFunction(TorchsUnlessSaving):
    """Layer normalisation without parameters: ``apply(input, normalized_shape, eps, memory_efficient)``."""

    torchs = staticmethod(_plain_layer_norm)

    @staticmethod
    def forward(
        ctx: Any, input: Tensor, normalized_shape: Shape, eps: float, memory_efficient: bool = False
    ) -> Tensor:
        """Return the normalised input."""
        return kept(ctx, layer_norm.forward, [input], normalized_shape, eps, memory_efficient)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the input."""
        return differentiated(ctx, layer_norm.backward, grad_output)


class FusedLayerNormAffineFunction(TorchsUnlessSaving):
    """Layer normalisation: ``apply(input, weight, bias, normalized_shape, eps, memory_efficient)``."""

    torchs = staticmethod(_same_dtype_layer_norm)

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        weight: Tensor,
        bias: Tensor,
        normalized_shape: Shape,
        eps: float,
        memory_efficient: bool = False,
    ) -> Tensor:
        """Return the normalised input, scaled and shifted, in its dtype."""
        tensors, kernel = [input, weight, bias], layer_norm.forward_affine
        return kept(ctx, kernel, tensors, normalized_shape, eps, memory_efficient)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the input and of both parameters."""
        return differentiated(ctx, layer_norm.backward_affine, grad_output)


class FusedLayerNormAffineMixedDtypesFunction(FusedLayerNormAffineFunction):
    """Layer normalisation whose output has the parameters' dtype; otherwise like its base."""

    torchs = staticmethod(_mixed_layer_norm)

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        weight: Tensor,
        bias: Tensor,
        normalized_shape: Shape,
        eps: float,
        memory_efficient: bool = False,
    ) -> Tensor:
        """Return the normalised input, scaled and shifted, in the parameters' dtype."""
        tensors, kernel = [input, weight, bias], layer_norm.forward_affine_mixed_dtypes
        return kept(ctx, kernel, tensors, normalized_shape, eps, memory_efficient)


class FusedRMSNormFunction(TorchsUnlessSaving):
    """Normalisation by the root mean square: ``apply(input, normalized_shape, eps, memory_efficient)``."""

    torchs = staticmethod(_plain_rms_norm)

    @staticmethod
    def forward(
        ctx: Any, input: Tensor, normalized_shape: Shape, eps: float, memory_efficient: bool = False
    ) -> Tensor:
        """Return the normalised input."""
        return kept(ctx, rms_norm.rms_forward, [input], normalized_shape, eps, memory_efficient)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the input."""
        return differentiated(ctx, rms_norm.rms_backward, grad_output)


class FusedRMSNormAffineFunction(TorchsUnlessSaving):
    """Normalisation by the root mean square: ``apply(input, weight, normalized_shape, eps, ...)``."""

    torchs = staticmethod(_same_dtype_rms_norm)

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        weight: Tensor,
        normalized_shape: Shape,
        eps: float,
        memory_efficient: bool = False,
    ) -> Tensor:
        """Return the normalised input, scaled, in its dtype."""
        tensors, kernel = [input, weight], rms_norm.rms_forward_affine
        return kept(ctx, kernel, tensors, normalized_shape, eps, memory_efficient)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the input and of the weight."""
        return differentiated(ctx, rms_norm.rms_backward_affine, grad_output)


class FusedRMSNormAffineMixedDtypesFunction(FusedRMSNormAffineFunction):
    """Normalisation whose output has the weight's dtype; otherwise like its base."""

    torchs = staticmethod(_mixed_rms_norm)

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        weight: Tensor,
        normalized_shape: Shape,
        eps: float,
        memory_efficient: bool = False,
    ) -> Tensor:
        """Return the normalised input, scaled, in the weight's dtype."""
        tensors, kernel = [input, weight], rms_norm.rms_forward_affine_mixed_dtypes
        return kept(ctx, kernel, tensors, normalized_shape, eps, memory_efficient)
