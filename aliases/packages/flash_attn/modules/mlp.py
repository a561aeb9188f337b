"""Multi-layer perceptrons, with and without a gate."""
# ruff: noqa: F401 (the imported names are part of the interface)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..ops.activations import swiglu
from ..ops.fused_dense import ColumnParallelLinear, FusedMLP, ParallelFusedMLP, RowParallelLinear

Activation = Callable[[Tensor], Tensor]


class Mlp(nn.Module):
    """Two linear layers with an activation between them.

    Args:
        in_features: The size of the input.
        hidden_features: The size between the layers; None for four times ``in_features``.
        out_features: The size of the output; None for ``in_features``.
        activation: The activation between the layers.
        bias1: Whether the first layer has a bias.
        bias2: Whether the second layer has a bias.
        return_residual: Whether the input is also returned.
        device: The parameters' device.
        dtype: The parameters' dtype.
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


class GatedMlp(nn.Module):
    """Two linear layers, where half of the first one's outputs gate the other half; see :class:`Mlp`.

    If ``hidden_features`` is None, it is 8 / 3 times ``in_features``, rounded up to a multiple of
    ``multiple_of``.
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
        hidden = int(8 * in_features / 3) if hidden_features is None else hidden_features
        hidden = (hidden + multiple_of - 1) // multiple_of * multiple_of
        out = in_features if out_features is None else out_features
        self.return_residual = return_residual
        self.fc1 = nn.Linear(in_features, 2 * hidden, bias=bias1, device=device, dtype=dtype)
        self.activation = activation
        self.fc2 = nn.Linear(hidden, out, bias=bias2, device=device, dtype=dtype)

    def forward(self, x: Tensor) -> Any:
        """Apply both layers; with ``return_residual``, return ``x`` too."""
        values, gate = self.fc1(x).chunk(2, dim=-1)
        silu = self.activation is functional.silu
        y = self.fc2(swiglu(gate, values) if silu else values * self.activation(gate))  # type: ignore[no-untyped-call]
        return (y, x) if self.return_residual else y
