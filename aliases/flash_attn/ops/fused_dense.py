"""Linear layers and pairs of them, alone or spread over processes (tensor and sequence parallel)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..utils.distributed import (
    all_gather_raw,
    all_reduce,
    all_reduce_raw,
    reduce_scatter,
    reduce_scatter_raw,
)
from ..utils.torch import custom_bwd, custom_fwd
from .activations import gelu_bwd, relu_bwd, sqrelu_bwd, sqrelu_fwd
from .fused_mlp import (
    ACTIVATIONS,
    FusedDenseFunc,
    FusedMLPFunc,
    apply_both,
    fused_dense_func,
    fused_mlp_func,
    summed,
)
from .parallel_dense import ColumnParallelLinear, ParallelFusedMLP, RowParallelLinear

__all__ = [
    "ColumnParallelLinear",
    "FusedDense",
    "FusedDenseFunc",
    "FusedMLP",
    "FusedMLPFunc",
    "ParallelFusedMLP",
    "RowParallelLinear",
    "all_gather_raw",
    "all_reduce",
    "all_reduce_raw",
    "custom_bwd",
    "custom_fwd",
    "fused_dense_func",
    "fused_mlp_func",
    "gelu_bwd",
    "reduce_scatter",
    "reduce_scatter_raw",
    "relu_bwd",
    "sqrelu_bwd",
    "sqrelu_fwd",
]


class FusedDense(nn.Linear):
    """A linear layer.

    Args:
        in_features: Of the input.
        out_features: Of the output.
        bias: Whether it has a bias.
        return_residual: Whether the input is wanted too.
        device: Of the parameters.
        dtype: Of the parameters.
    """

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
        options = {"return_residual": self.return_residual, "process_group": process_group}
        return fused_dense_func(x, self.weight, self.bias, **options)


class FusedMLP(nn.Module):
    """Two linear layers with an activation between them.

    Args:
        in_features: Of the first layer.
        hidden_features: Between them; None for four times as many.
        out_features: Of the second layer; None for ``in_features``.
        bias1: Whether the first layer has a bias.
        bias2: Whether the second layer has a bias.
        activation: ``"gelu_approx"``, ``"relu"`` or ``"sqrelu"``.
        return_residual: Whether the input is wanted too.
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
        bias1: bool = True,
        bias2: bool = True,
        activation: str = "gelu_approx",
        return_residual: bool = False,
        checkpoint_lvl: int = 0,
        heuristic: int | str = "auto",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        assert checkpoint_lvl in (0, 1, 2)
        assert activation in ACTIVATIONS
        super().__init__()
        out_features, hidden_features = out_features or in_features, hidden_features or in_features * 4
        self.activation = activation
        self.return_residual = return_residual
        self.checkpoint_lvl = checkpoint_lvl
        self.heuristic = heuristic if activation != "sqrelu" else -1
        self.fc1 = nn.Linear(in_features, hidden_features, bias=bias1, device=device, dtype=dtype)
        self.fc2 = nn.Linear(hidden_features, out_features, bias=bias2, device=device, dtype=dtype)

    def forward(self, x: Tensor, process_group: Any = None) -> Any:
        """Apply both layers, to the rows of all processes of a group; see :func:`fused_mlp_func`."""
        out = apply_both(self, x, process_group, sequence_parallel=True)
        if process_group is not None:
            out = summed(out, process_group, True)
        return (out, x) if self.return_residual else out
