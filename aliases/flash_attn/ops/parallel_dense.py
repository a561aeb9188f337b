"""Linear layers that are spread over processes (tensor and sequence parallel)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, distributed, nn

from ..utils.distributed import get_dim_for_local_rank
from .fused_mlp import ACTIVATIONS, apply_both, fused_dense_func, summed


class ColumnParallelLinear(nn.Linear):
    """A linear layer of whose outputs each process computes a part.

    Args:
        in_features: Of the input.
        out_features: Of the output, of all processes.
        process_group: The processes.
        bias: Whether it has a bias.
        sequence_parallel: Whether each process has a part of the rows of the input, and not all.
        multiple_of: What each part is a multiple of.
        device: Of the parameters.
        dtype: Of the parameters.
    """

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
        own = _part(out_features, "out_features", process_group, multiple_of)
        super().__init__(in_features, own, bias=bias, device=device, dtype=dtype)
        self.process_group = process_group
        self.sequence_parallel = sequence_parallel

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer."""
        options = {"process_group": self.process_group, "sequence_parallel": self.sequence_parallel}
        return fused_dense_func(x, self.weight, self.bias, **options)  # type: ignore[no-any-return]


class RowParallelLinear(nn.Linear):
    """A linear layer of whose inputs each process has a part; the first one has the bias.

    Args:
        in_features: Of the input, of all processes.
        out_features: Of the output.
        process_group: The processes.
        bias: Whether it has a bias.
        sequence_parallel: Whether each process gets a part of the rows of the output, and not all.
        multiple_of: What each part of the input is a multiple of.
        device: Of the parameters.
        dtype: Of the parameters.
    """

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
        own = _part(in_features, "in_features", process_group, multiple_of)
        bias = bias and distributed.get_rank(process_group) == 0
        super().__init__(own, out_features, bias=bias, device=device, dtype=dtype)
        self.process_group = process_group
        self.sequence_parallel = sequence_parallel

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer, and sum the results of all processes up."""
        out = fused_dense_func(x, self.weight, self.bias)
        return summed(out, self.process_group, self.sequence_parallel)


class ParallelFusedMLP(nn.Module):
    """Two linear layers with an activation between them, spread over processes.

    Args:
        in_features: Of the first layer.
        hidden_features: Between them, of all processes; None for four times as many.
        out_features: Of the second layer; None for ``in_features``.
        activation: ``"gelu_approx"``, ``"relu"`` or ``"sqrelu"``.
        process_group: The processes.
        bias1: Whether the first layer has a bias.
        bias2: Whether the second layer has a bias.
        sequence_parallel: Whether each process has a part of the rows, and not all.
        checkpoint_lvl: What the backward pass computes again: 0 nothing, 1 the activation, 2 also its input.
        heuristic: Without effect on the result.
        device: Of the parameters.
        dtype: Of the parameters.
    """

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
        assert checkpoint_lvl in (0, 1, 2)
        assert activation in ACTIVATIONS
        assert process_group is not None
        super().__init__()
        out_features, hidden_features = out_features or in_features, hidden_features or in_features * 4
        self.activation = activation
        self.process_group = process_group
        self.sequence_parallel = sequence_parallel
        self.checkpoint_lvl = checkpoint_lvl
        self.heuristic = heuristic if activation != "sqrelu" else -1
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        self.fc1 = ColumnParallelLinear(in_features, hidden_features, process_group, bias=bias1, **where)
        self.fc2 = RowParallelLinear(hidden_features, out_features, process_group, bias=bias2, **where)

    def forward(self, x: Tensor) -> Tensor:
        """Apply both layers, and sum the results of all processes up."""
        out = apply_both(self, x, self.process_group, self.sequence_parallel)
        return summed(out, self.process_group, self.sequence_parallel)


def _part(features: int, name: str, process_group: Any, multiple_of: int) -> int:
    if features % multiple_of:
        raise ValueError(f"{name} ({features}) must be a multiple of {multiple_of}")
    world_size, rank = distributed.get_world_size(process_group), distributed.get_rank(process_group)
    return get_dim_for_local_rank(features, world_size, rank, multiple_of)
