"""Multi-layer perceptrons, with and without a gate, alone or spread over processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..ops.activations import swiglu
from ..ops.fused_dense import ColumnParallelLinear, FusedMLP, ParallelFusedMLP, RowParallelLinear

__all__ = [
    "ColumnParallelLinear",
    "FusedMLP",
    "GatedMlp",
    "Mlp",
    "ParallelFusedMLP",
    "ParallelGatedMlp",
    "ParallelMLP",
    "RowParallelLinear",
    "swiglu",
]

Activation = Callable[[Tensor], Tensor]


class Mlp(nn.Module):
    """Two linear layers with an activation between them.

    Args:
        in_features: Of the first layer.
        hidden_features: Between them; None for four times as many.
        out_features: Of the second layer; None for ``in_features``.
        activation: What lies between them.
        bias1: Whether the first layer has a bias.
        bias2: Whether the second layer has a bias.
        return_residual: Whether the input is wanted too.
        device: Of the parameters.
        dtype: Of the parameters.
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int | None = None,
        out_features: int | None = None,
        activation: Activation = functional.gelu,
        bias1: bool = True,
        bias2: bool = True,
        return_residual: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        hidden = in_features * 4 if hidden_features is None else hidden_features
        out = in_features if out_features is None else out_features
        self.return_residual = return_residual
        self.fc1 = nn.Linear(in_features, hidden, bias=bias1, device=device, dtype=dtype)
        self.activation = activation
        self.fc2 = nn.Linear(hidden, out, bias=bias2, device=device, dtype=dtype)

    def forward(self, x: Tensor) -> Any:
        """Apply both layers; with ``return_residual``, return ``x`` too."""
        y = self.fc2(self.activation(self.fc1(x)))
        return (y, x) if self.return_residual else y


class ParallelMLP(nn.Module):
    """Two linear layers with an activation between them, spread over processes.

    Args:
        in_features: Of the first layer.
        hidden_features: Between them, of all processes; None for four times as many.
        out_features: Of the second layer; None for ``in_features``.
        activation: What lies between them.
        process_group: The processes.
        sequence_parallel: Whether each process has a part of the rows, and not all.
        bias1: Whether the first layer has a bias.
        bias2: Whether the second layer has a bias.
        device: Of the parameters.
        dtype: Of the parameters.
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int | None = None,
        out_features: int | None = None,
        activation: Activation = functional.gelu,
        process_group: Any = None,
        sequence_parallel: bool = True,
        bias1: bool = True,
        bias2: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        hidden = in_features * 4 if hidden_features is None else hidden_features
        out = in_features if out_features is None else out_features
        shared: dict[str, Any] = {"sequence_parallel": sequence_parallel, "device": device, "dtype": dtype}
        self.fc1 = ColumnParallelLinear(in_features, hidden, process_group, bias=bias1, **shared)
        self.activation = activation
        self.fc2 = RowParallelLinear(hidden, out, process_group, bias=bias2, **shared)

    def forward(self, x: Tensor) -> Tensor:
        """Apply both layers, and sum the results of all processes up."""
        return self.fc2(self.activation(self.fc1(x)))  # type: ignore[no-any-return]


class GatedMlp(nn.Module):
    """Two linear layers, with half of the first one's outputs as a gate of the other half.

    Args:
        in_features: Of the first layer.
        hidden_features: Between them; None for 8 / 3 times as many.
        out_features: Of the second layer; None for ``in_features``.
        activation: Of the gate.
        bias1: Whether the first layer has a bias.
        bias2: Whether the second layer has a bias.
        multiple_of: What ``hidden_features`` is rounded up to a multiple of.
        return_residual: Whether the input is wanted too.
        device: Of the parameters.
        dtype: Of the parameters.
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int | None = None,
        out_features: int | None = None,
        activation: Activation = functional.sigmoid,
        bias1: bool = True,
        bias2: bool = True,
        multiple_of: int = 128,
        return_residual: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        hidden = _gated_features(in_features, hidden_features, multiple_of)
        out = in_features if out_features is None else out_features
        self.return_residual = return_residual
        self.fc1 = nn.Linear(in_features, 2 * hidden, bias=bias1, device=device, dtype=dtype)
        self.activation = activation
        self.fc2 = nn.Linear(hidden, out, bias=bias2, device=device, dtype=dtype)

    def forward(self, x: Tensor) -> Any:
        """Apply both layers; with ``return_residual``, return ``x`` too."""
        y = self.fc2(_gated(self.fc1(x), self.activation))
        return (y, x) if self.return_residual else y


class ParallelGatedMlp(nn.Module):
    """A gated perceptron that is spread over processes.

    Args:
        in_features: Of the first layer.
        process_group: The processes.
        hidden_features: Between the layers, of all processes; None for 8 / 3 times as many.
        out_features: Of the second layer; None for ``in_features``.
        activation: Of the gate.
        bias1: Whether the first layer has a bias.
        bias2: Whether the second layer has a bias.
        multiple_of: What ``hidden_features`` is rounded up to a multiple of.
        sequence_parallel: Whether each process has a part of the rows, and not all.
        device: Of the parameters.
        dtype: Of the parameters.
    """

    def __init__(
        self,
        in_features: int,
        process_group: Any,
        hidden_features: int | None = None,
        out_features: int | None = None,
        activation: Activation = functional.sigmoid,
        bias1: bool = True,
        bias2: bool = True,
        multiple_of: int = 128,
        sequence_parallel: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        hidden = _gated_features(in_features, hidden_features, multiple_of)
        out = in_features if out_features is None else out_features
        shared: dict[str, Any] = {"sequence_parallel": sequence_parallel, "device": device, "dtype": dtype}
        self.fc1 = ColumnParallelLinear(in_features, 2 * hidden, process_group, bias=bias1, **shared)
        self.activation = activation
        self.fc2 = RowParallelLinear(hidden, out, process_group, bias=bias2, **shared)

    def forward(self, x: Tensor) -> Tensor:
        """Apply both layers, and sum the results of all processes up."""
        return self.fc2(_gated(self.fc1(x), self.activation))  # type: ignore[no-any-return]


def _gated_features(in_features: int, hidden_features: int | None, multiple_of: int) -> int:
    hidden = int(8 * in_features / 3) if hidden_features is None else hidden_features
    return (hidden + multiple_of - 1) // multiple_of * multiple_of


def _gated(y: Tensor, activation: Activation) -> Tensor:
    values, gate = y.chunk(2, dim=-1)
    if activation is functional.silu:
        return swiglu(gate, values)  # type: ignore[no-any-return, no-untyped-call]
    return values * activation(gate)
