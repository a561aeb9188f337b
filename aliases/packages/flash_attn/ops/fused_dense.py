"""Linear layers and pairs of them, alone or spread over processes (tensor and sequence parallel)."""
# ruff: noqa: F401 (the imported names are part of the interface)

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from ..utils.distributed import (
    all_gather,
    all_gather_raw,
    all_reduce,
    all_reduce_raw,
    get_dim_for_local_rank,
    reduce_scatter,
    reduce_scatter_raw,
)
from ..utils.torch import custom_bwd, custom_fwd
from .activations import gelu_bwd, gelu_fwd, relu_bwd, sqrelu_bwd, sqrelu_fwd

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu_approx": gelu_fwd,
    "relu": functional.relu,
    "sqrelu": sqrelu_fwd,
}


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
        return_residual: Whether ``x`` is also returned.
        process_group: The processes over which the layer is spread.
        sequence_parallel: Whether each of them has a part of the rows of ``x`` instead of all.

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
    """Apply two linear layers with an activation between them; see also :func:`fused_dense_func`.

    Args:
        x: Of shape (..., in features).
        weight1: Of shape (hidden features, in features).
        weight2: Of shape (out features, hidden features).
        bias1: Of shape (hidden features,), or None.
        bias2: Of shape (out features,), or None.
        activation: ``"gelu_approx"``, ``"relu"`` or ``"sqrelu"``.
        save_pre_act: Whether the input of the activation is saved for the backward pass.
        return_residual: Whether ``x`` is also returned.
        checkpoint_lvl: What the backward pass recomputes: 0 nothing, 1 the activation, 2 also its input.
        heuristic: Without effect on the result.
        process_group: The processes over which the layers are spread.
        sequence_parallel: Whether each of them has a part of the rows of ``x`` instead of all.
    """
    level, act = checkpoint_lvl if save_pre_act else 2, _ACTIVATIONS[activation]

    def second(hidden: Tensor) -> Tensor:
        return functional.linear(act(hidden), weight2, bias2)

    def both(total: Tensor) -> Any:
        hidden = functional.linear(total, weight1, bias1)
        return checkpoint(second, hidden, use_reentrant=False) if level == 1 else second(hidden)

    total = _gathered(x, process_group, sequence_parallel)
    out = checkpoint(both, total, use_reentrant=False) if level == 2 else both(total)
    return (out, x) if return_residual else out


class FusedDenseFunc:
    """An autograd function in flash_attn; here torch differentiates it automatically."""

    apply = staticmethod(fused_dense_func)


class FusedMLPFunc:
    """An autograd function in flash_attn; here torch differentiates it automatically."""

    @staticmethod
    def apply(x: Tensor, weight1: Tensor, bias1: Any, weight2: Tensor, bias2: Any, *options: Any) -> Any:
        """Apply both layers; see :func:`fused_mlp_func`."""
        return fused_mlp_func(x, weight1, weight2, bias1, bias2, *options)


class FusedDense(nn.Linear):
    """A linear layer, which also returns its input with ``return_residual``."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        return_residual: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, bias=bias, device=device, dtype=dtype)
        self.return_residual = return_residual

    def forward(self, x: Tensor, process_group: Any = None) -> Any:
        """Apply the layer, to the rows of all processes of a group; see :func:`fused_dense_func`."""
        return fused_dense_func(x, self.weight, self.bias, self.return_residual, process_group)


class _ParallelLinear(nn.Linear):
    """A linear layer of which each process has a part, a multiple of ``multiple_of``."""

    spread: str

    def __init__(
        self,
        in_features: int,
        out_features: int,
        process_group: Any,
        bias: bool = True,
        sequence_parallel: bool = True,
        multiple_of: int = 1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        sizes = {"in_features": in_features, "out_features": out_features}
        if sizes[self.spread] % multiple_of:
            raise ValueError(f"{self.spread} ({sizes[self.spread]}) must be a multiple of {multiple_of}")
        world_size, rank = distributed.get_world_size(process_group), distributed.get_rank(process_group)
        sizes[self.spread] = get_dim_for_local_rank(sizes[self.spread], world_size, rank, multiple_of)
        bias = bias and (rank == 0 or self.spread == "out_features")
        super().__init__(**sizes, bias=bias, device=device, dtype=dtype)
        self.process_group, self.sequence_parallel = process_group, sequence_parallel


class ColumnParallelLinear(_ParallelLinear):
    """A linear layer whose outputs are split over processes."""

    spread = "out_features"

    def forward(self, x: Tensor) -> Any:
        """Apply the layer."""
        return fused_dense_func(x, self.weight, self.bias, False, self.process_group, self.sequence_parallel)


class RowParallelLinear(_ParallelLinear):
    """A linear layer whose inputs are split over processes; the first one has the bias."""

    spread = "in_features"

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer, and sum the results of all processes up."""
        out = functional.linear(x, self.weight, self.bias)
        return _summed(out, self.process_group, self.sequence_parallel)


class _TwoLayers(nn.Module):
    """The layers ``fc1`` and ``fc2`` with the options that :func:`fused_mlp_func` describes."""

    fc1: nn.Linear
    fc2: nn.Linear

    def __init__(self, activation: str, checkpoint_lvl: int, heuristic: int | str) -> None:
        assert checkpoint_lvl in (0, 1, 2)
        assert activation in _ACTIVATIONS
        super().__init__()
        self.activation, self.checkpoint_lvl = activation, checkpoint_lvl
        self.heuristic = heuristic if activation != "sqrelu" else -1

    def _apply_both(self, x: Tensor, process_group: Any, sequence_parallel: bool) -> Tensor:
        layers = self.fc1.weight, self.fc2.weight, self.fc1.bias, self.fc2.bias
        out: Tensor = fused_mlp_func(
            x,
            *layers,
            activation=self.activation,
            save_pre_act=self.training,
            checkpoint_lvl=self.checkpoint_lvl,
            process_group=process_group,
            sequence_parallel=sequence_parallel,
        )
        return out if process_group is None else _summed(out, process_group, sequence_parallel)


class FusedMLP(_TwoLayers):
    """Two linear layers with an activation between them.

    If ``hidden_features`` is None, it is four times ``in_features``.
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int | None = None,
        out_features: int | None = None,
        bias1: bool = True,
        bias2: bool = True,
        activation: str = "gelu_approx",
        return_residual: bool = False,
        checkpoint_lvl: int = 0,
        heuristic: int | str = "auto",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(activation, checkpoint_lvl, heuristic)
        out_features, hidden_features = out_features or in_features, hidden_features or in_features * 4
        self.return_residual = return_residual
        self.fc1 = nn.Linear(in_features, hidden_features, bias=bias1, device=device, dtype=dtype)
        self.fc2 = nn.Linear(hidden_features, out_features, bias=bias2, device=device, dtype=dtype)

    def forward(self, x: Tensor, process_group: Any = None) -> Any:
        """Apply both layers, to the rows of all processes of a group."""
        out = self._apply_both(x, process_group, sequence_parallel=True)
        return (out, x) if self.return_residual else out


class ParallelFusedMLP(_TwoLayers):
    """A :class:`FusedMLP` whose hidden features are spread over processes."""

    def __init__(
        self,
        in_features: int,
        hidden_features: int | None = None,
        out_features: int | None = None,
        activation: str = "gelu_approx",
        process_group: Any = None,
        bias1: bool = True,
        bias2: bool = True,
        sequence_parallel: bool = True,
        checkpoint_lvl: int = 0,
        heuristic: int | str = "auto",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        assert process_group is not None
        super().__init__(activation, checkpoint_lvl, heuristic)
        out_features, hidden_features = out_features or in_features, hidden_features or in_features * 4
        self.process_group, self.sequence_parallel = process_group, sequence_parallel
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        self.fc1 = ColumnParallelLinear(in_features, hidden_features, process_group, bias=bias1, **where)
        self.fc2 = RowParallelLinear(hidden_features, out_features, process_group, bias=bias2, **where)

    def forward(self, x: Tensor) -> Tensor:
        """Apply both layers, and sum the results of all processes up."""
        return self._apply_both(x, self.process_group, self.sequence_parallel)


class _SharedInput(torch.autograd.Function):
    """The same input in all processes, whose gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, process_group: Any) -> Tensor:
        ctx.process_group = process_group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return all_reduce_raw(grad.clone(), ctx.process_group)[0], None


def _gathered(x: Tensor, process_group: Any, sequence_parallel: bool) -> Tensor:
    """Return all rows: gathered from all processes if the sequence is split over them."""
    if process_group is None:
        return x
    function = all_gather if sequence_parallel else _SharedInput.apply
    return function(x, process_group)  # type: ignore[no-any-return, no-untyped-call]


def _summed(out: Tensor, process_group: Any, sequence_parallel: bool) -> Tensor:
    """Return the sum over processes: this one's rows if the sequence is split, else all rows."""
    reduce = reduce_scatter if sequence_parallel else all_reduce
    return reduce(out, process_group)  # type: ignore[no-any-return, no-untyped-call]
