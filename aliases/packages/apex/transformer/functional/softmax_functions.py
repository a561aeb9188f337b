"""Softmax of scaled scores, masked or causal."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..._autocast_utils import _cast_if_autocast_enabled
from ...kernels import scaled_softmax


class ScaledSoftmax(torch.autograd.Function):
    """The softmax: ``apply(inputs, scale)``."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, scale: float) -> Tensor:
        """Return the probabilities."""
        return _kept(ctx, scaled_softmax.forward(inputs, scale), scale)

    @staticmethod
    def backward(ctx: Any, output_grads: Tensor) -> tuple[Tensor, None]:
        """Return the gradient of the scores."""
        return _grad(ctx, output_grads), None


class ScaledMaskedSoftmax(torch.autograd.Function):
    """The softmax without masked scores: ``apply(inputs, mask, scale)``."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, mask: Tensor, scale: float) -> Tensor:
        """Return the probabilities."""
        return _kept(ctx, scaled_softmax.masked_forward(inputs, mask, scale), scale)

    @staticmethod
    def backward(ctx: Any, output_grads: Tensor) -> tuple[Tensor, None, None]:
        """Return the gradient of the scores."""
        return _grad(ctx, output_grads), None, None


class GenericScaledMaskedSoftmax(ScaledMaskedSoftmax):
    """The softmax without masked scores, of any number of keys: ``apply(inputs, mask, scale)``."""


class ScaledUpperTriangMaskedSoftmax(torch.autograd.Function):
    """The softmax without the keys after each query: ``apply(inputs, scale)``."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, scale: float) -> Tensor:
        """Return the probabilities."""
        return _kept(ctx, scaled_softmax.causal_forward(inputs, scale), scale)

    @staticmethod
    def backward(ctx: Any, output_grads: Tensor) -> tuple[Tensor, None]:
        """Return the gradient of the scores."""
        return _grad(ctx, output_grads), None


def _kept(ctx: Any, results: Tensor, scale: float) -> Tensor:
    ctx.save_for_backward(results)
    ctx.scale = scale
    return results


def _grad(ctx: Any, output_grads: Tensor) -> Tensor:
    (results,) = ctx.saved_tensors
    return scaled_softmax.backward(output_grads, results, ctx.scale)


def scaled_masked_softmax(inputs: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Compute the softmax of scaled scores.

    Args:
        inputs: The scores, of shape (batch, heads, queries, keys), float16 or bfloat16.
        mask: 1 where a score is masked, of shape (batch or 1, 1, queries, keys); None for no mask.
        scale: The factor of the scores.

    Returns:
        The probabilities; a fully masked row is zero.
    """
    if mask is None:
        return _applied(ScaledSoftmax, inputs, scale)
    return _applied(ScaledMaskedSoftmax, inputs, mask, scale)


def generic_scaled_masked_softmax(inputs: Tensor, mask: Tensor, scale: float) -> Tensor:
    """Do what ``scaled_masked_softmax`` does, for any number of keys."""
    return _applied(GenericScaledMaskedSoftmax, inputs, mask, scale)


def scaled_upper_triang_masked_softmax(inputs: Tensor, _: Any, scale: float) -> Tensor:
    """Compute the softmax of scaled scores, without the keys after each query.

    Args:
        inputs: The scores, of shape (batch, heads, tokens, tokens), float16 or bfloat16.
        _: Ignored.
        scale: The factor of the scores.
    """
    assert inputs.size(-2) == inputs.size(-1), "causal mask is only for self attention"
    return _applied(ScaledUpperTriangMaskedSoftmax, inputs.flatten(0, 1), scale).view(inputs.shape)


def _applied(function: Any, *args: Any) -> Tensor:
    args = _cast_if_autocast_enabled(*args)
    with torch.amp.autocast("cuda", enabled=False):
        output: Tensor = function.apply(*args)
    return output
