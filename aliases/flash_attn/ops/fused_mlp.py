"""Linear layers and pairs of them as functions, alone or spread over processes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from ..utils.distributed import all_gather, all_reduce, all_reduce_raw, reduce_scatter
from .activations import gelu_fwd, sqrelu_fwd

Layer = tuple[Tensor, Tensor | None]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu_approx": gelu_fwd,
    "relu": functional.relu,
    "sqrelu": sqrelu_fwd,
}


def two_layers(
    x: Tensor, first: Layer, second: Layer, activation: Callable[[Tensor], Tensor], checkpoint_lvl: int
) -> Tensor:
    """Apply two linear layers.

    Args:
        x: Of shape (..., in features).
        first: Weight and bias.
        second: Weight and bias.
        activation: What lies between them.
        checkpoint_lvl: What the backward pass computes again: 0 nothing, 1 the activation, 2 also its input.

    Returns:
        Of shape (..., out features).
    """
    rest = partial(_rest, second=second, activation=activation)
    if checkpoint_lvl == 0:
        return rest(functional.linear(x, *first))
    if checkpoint_lvl == 1:
        return checkpoint(rest, functional.linear(x, *first), use_reentrant=False)  # type: ignore[no-any-return]
    whole = partial(two_layers, first=first, second=second, activation=activation, checkpoint_lvl=0)
    return checkpoint(whole, x, use_reentrant=False)  # type: ignore[no-any-return]


def _rest(hidden: Tensor, second: Layer, activation: Callable[[Tensor], Tensor]) -> Tensor:
    return functional.linear(activation(hidden), *second)


def fused_dense_func(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    return_residual: bool = False,
    process_group: Any = None,
    sequence_parallel: bool = True,
) -> Any:
    """Apply a linear layer.

    Args:
        x: Of shape (..., in features).
        weight: Of shape (out features, in features).
        bias: Of shape (out features,), or None.
        return_residual: Whether ``x`` is wanted too.
        process_group: The processes that the layer is spread over.
        sequence_parallel: Whether each of them has a part of the rows of ``x``, and not all.

    Returns:
        Of shape (..., out features); with ``return_residual`` also ``x``.
    """
    out = functional.linear(_gathered(x, process_group, sequence_parallel), weight, bias)
    return (out, x) if return_residual else out


def fused_mlp_func(
    x: Tensor,
    weight1: Tensor,
    weight2: Tensor,
    bias1: Tensor | None = None,
    bias2: Tensor | None = None,
    activation: str = "gelu_approx",
    save_pre_act: bool = True,
    return_residual: bool = False,
    checkpoint_lvl: int = 0,
    heuristic: int = 0,
    process_group: Any = None,
    sequence_parallel: bool = True,
) -> Any:
    """Apply two linear layers with an activation between them.

    Args:
        x: Of shape (..., in features).
        weight1: Of shape (hidden features, in features).
        weight2: Of shape (out features, hidden features).
        bias1: Of shape (hidden features,), or None.
        bias2: Of shape (out features,), or None.
        activation: ``"gelu_approx"``, ``"relu"`` or ``"sqrelu"``.
        save_pre_act: Whether the input of the activation is kept for the backward pass.
        return_residual: Whether ``x`` is wanted too.
        checkpoint_lvl: What the backward pass computes again: 0 nothing, 1 the activation, 2 also its input.
        heuristic: Without effect on the result.
        process_group: The processes that the layers are spread over.
        sequence_parallel: Whether each of them has a part of the rows of ``x``, and not all.

    Returns:
        Of shape (..., out features); with ``return_residual`` also ``x``.
    """
    assert activation in ACTIVATIONS
    level = checkpoint_lvl if save_pre_act else 2
    total = _gathered(x, process_group, sequence_parallel)
    out = two_layers(total, (weight1, bias1), (weight2, bias2), ACTIVATIONS[activation], level)
    return (out, x) if return_residual else out


def _dense(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    return_residual: bool = False,
    process_group: Any = None,
    sequence_parallel: bool = True,
) -> Any:
    return fused_dense_func(x, weight, bias, return_residual, process_group, sequence_parallel)


def _mlp(
    x: Tensor, weight1: Tensor, bias1: Tensor | None, weight2: Tensor, bias2: Tensor | None, *options: Any
) -> Any:
    return fused_mlp_func(x, weight1, weight2, bias1, bias2, *options)


def apply_both(module: Any, x: Tensor, process_group: Any, sequence_parallel: bool) -> Tensor:
    """Apply the layers ``fc1`` and ``fc2`` of a module with the options of ``FusedMLP``."""
    weights = module.fc1.weight, module.fc2.weight, module.fc1.bias, module.fc2.bias
    return fused_mlp_func(  # type: ignore[no-any-return]
        x,
        *weights,
        activation=module.activation,
        save_pre_act=module.training,
        checkpoint_lvl=module.checkpoint_lvl,
        process_group=process_group,
        sequence_parallel=sequence_parallel,
    )


def summed(out: Tensor, process_group: Any, sequence_parallel: bool) -> Tensor:
    """Return the sum over processes: this one's rows, or all if the sequence is not spread."""
    reduce = reduce_scatter if sequence_parallel else all_reduce
    return reduce(out, process_group)  # type: ignore[no-any-return, no-untyped-call]


class FusedDenseFunc:
    """What flash_attn has as an autograd function, and torch differentiates by itself here."""

    apply = staticmethod(_dense)


class FusedMLPFunc:
    """What flash_attn has as an autograd function, and torch differentiates by itself here."""

    apply = staticmethod(_mlp)


class _SharedInput(torch.autograd.Function):
    """The same input on all processes, whose gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, process_group: Any) -> Tensor:
        ctx.process_group = process_group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return all_reduce_raw(grad.clone(), ctx.process_group)[0], None


def _gathered(x: Tensor, process_group: Any, sequence_parallel: bool) -> Tensor:
    """Return all rows, of which each process has a part if the sequence is spread, and all if it is not."""
    if process_group is None:
        return x
    function = all_gather if sequence_parallel else _SharedInput.apply
    return function(x, process_group)  # type: ignore[no-any-return, no-untyped-call]
