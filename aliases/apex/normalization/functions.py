"""The autograd functions, which can keep the output for the backward pass in place of the input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from ..kernels import layer_norm, rms_norm
from ..kernels.checks import check_same_dtype
from ..kernels.differentiation import TorchsUnlessSaving

Shape = Sequence[int]


class FusedLayerNormFunction(TorchsUnlessSaving):
    """Layer normalisation without parameters: ``apply(input, normalized_shape, eps, memory_efficient)``."""

    @staticmethod
    def torchs(input: Tensor, normalized_shape: Shape, eps: float) -> Tensor:
        """Return the normalised input."""
        return layer_norm.layer_norm(input, normalized_shape, None, None, eps)

    @staticmethod
    def forward(
        ctx: Any, input: Tensor, normalized_shape: Shape, eps: float, memory_efficient: bool = False
    ) -> Tensor:
        """Return the normalised input."""
        _remember(ctx, normalized_shape, eps, memory_efficient)
        input = input.contiguous()
        output, mean, invvar = layer_norm.forward(input, normalized_shape, eps)
        ctx.save_for_backward(*((output, None) if memory_efficient else (input, mean)), invvar)
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the input."""
        kept, mean, invvar = ctx.saved_tensors
        grad = layer_norm.backward(
            grad_output.contiguous(), mean, invvar, kept, ctx.normalized_shape, ctx.eps, ctx.memory_efficient
        )
        return grad, None, None, None


class FusedLayerNormAffineFunction(TorchsUnlessSaving):
    """Layer normalisation: ``apply(input, weight, bias, normalized_shape, eps, memory_efficient)``."""

    @staticmethod
    def torchs(input: Tensor, weight: Tensor, bias: Tensor, normalized_shape: Shape, eps: float) -> Tensor:
        """Return the normalised input, scaled and shifted, in its dtype."""
        check_same_dtype(input, weight, bias)
        return layer_norm.layer_norm(input, normalized_shape, weight, bias, eps)

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
        _remember(ctx, normalized_shape, eps, memory_efficient)
        return _layer_norm(ctx, layer_norm.forward_affine, input, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the input and of both parameters."""
        kept, weight, bias, mean, invvar = ctx.saved_tensors
        grads = layer_norm.backward_affine(
            grad_output.contiguous(),
            mean,
            invvar,
            kept,
            ctx.normalized_shape,
            weight,
            bias,
            ctx.eps,
            ctx.memory_efficient,
        )
        return *grads, None, None, None


class FusedLayerNormAffineMixedDtypesFunction(FusedLayerNormAffineFunction):
    """Layer normalisation whose output has the parameters' dtype; else as its base."""

    @staticmethod
    def torchs(input: Tensor, weight: Tensor, bias: Tensor, normalized_shape: Shape, eps: float) -> Tensor:
        """Return the normalised input, scaled and shifted, in the parameters' dtype."""
        return layer_norm.layer_norm(input, normalized_shape, weight, bias, eps)

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
        _remember(ctx, normalized_shape, eps, memory_efficient)
        return _layer_norm(ctx, layer_norm.forward_affine_mixed_dtypes, input, weight, bias)


class FusedRMSNormFunction(TorchsUnlessSaving):
    """Normalisation by the root mean square: ``apply(input, normalized_shape, eps, memory_efficient)``."""

    @staticmethod
    def torchs(input: Tensor, normalized_shape: Shape, eps: float) -> Tensor:
        """Return the normalised input."""
        return rms_norm.rms_norm(input, normalized_shape, None, eps)

    @staticmethod
    def forward(
        ctx: Any, input: Tensor, normalized_shape: Shape, eps: float, memory_efficient: bool = False
    ) -> Tensor:
        """Return the normalised input."""
        _remember(ctx, normalized_shape, eps, memory_efficient)
        input = input.contiguous()
        output, invvar = rms_norm.rms_forward(input, normalized_shape, eps)
        ctx.save_for_backward(output if memory_efficient else input, invvar)
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the input."""
        kept, invvar = ctx.saved_tensors
        grad = rms_norm.rms_backward(
            grad_output.contiguous(), invvar, kept, ctx.normalized_shape, ctx.eps, ctx.memory_efficient
        )
        return grad, None, None, None


class FusedRMSNormAffineFunction(TorchsUnlessSaving):
    """Normalisation by the root mean square: ``apply(input, weight, normalized_shape, eps, ...)``."""

    @staticmethod
    def torchs(input: Tensor, weight: Tensor, normalized_shape: Shape, eps: float) -> Tensor:
        """Return the normalised input, scaled, in its dtype."""
        check_same_dtype(input, weight)
        return rms_norm.rms_norm(input, normalized_shape, weight, eps)

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
        _remember(ctx, normalized_shape, eps, memory_efficient)
        return _rms_norm(ctx, rms_norm.rms_forward_affine, input, weight)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the input and of the weight."""
        kept, weight, invvar = ctx.saved_tensors
        grads = rms_norm.rms_backward_affine(
            grad_output.contiguous(),
            invvar,
            kept,
            ctx.normalized_shape,
            weight,
            ctx.eps,
            ctx.memory_efficient,
        )
        return *grads, None, None, None


class FusedRMSNormAffineMixedDtypesFunction(FusedRMSNormAffineFunction):
    """Normalisation whose output has the weight's dtype; else as its base."""

    @staticmethod
    def torchs(input: Tensor, weight: Tensor, normalized_shape: Shape, eps: float) -> Tensor:
        """Return the normalised input, scaled, in the weight's dtype."""
        return rms_norm.rms_norm(input, normalized_shape, weight, eps)

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
        _remember(ctx, normalized_shape, eps, memory_efficient)
        return _rms_norm(ctx, rms_norm.rms_forward_affine_mixed_dtypes, input, weight)


def _remember(ctx: Any, normalized_shape: Shape, eps: float, memory_efficient: bool) -> None:
    ctx.normalized_shape = normalized_shape
    ctx.eps = eps
    ctx.memory_efficient = memory_efficient


def _layer_norm(
    ctx: Any, kernel: Callable[..., layer_norm.Statistics], input: Tensor, weight: Tensor, bias: Tensor
) -> Tensor:
    input, weight, bias = input.contiguous(), weight.contiguous(), bias.contiguous()
    output, mean, invvar = kernel(input, ctx.normalized_shape, weight, bias, ctx.eps)
    if ctx.memory_efficient:
        ctx.save_for_backward(output, weight, bias, None, invvar)
    else:
        ctx.save_for_backward(input, weight, bias, mean, invvar)
    return output


def _rms_norm(
    ctx: Any, kernel: Callable[..., tuple[Tensor, Tensor]], input: Tensor, weight: Tensor
) -> Tensor:
    input, weight = input.contiguous(), weight.contiguous()
    output, invvar = kernel(input, ctx.normalized_shape, weight, ctx.eps)
    ctx.save_for_backward(output if ctx.memory_efficient else input, weight, invvar)
    return output
