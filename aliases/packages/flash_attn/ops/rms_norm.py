"""Root mean square normalization of dropped-out inputs and a residual; see :mod:`.normalization`."""
# ruff: noqa: F401 (the imported names are part of the interface)

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from .normalization import (
    DropoutAddLayerNormFn,
    DropoutAddLayerNormParallelResidualFn,
    DropoutAddLayerNormSubsetFn,
    DropoutAddNorm,
    dropout_add_norm,
    dropout_add_norm_parallel_residual,
    dropout_add_norm_subset,
)

dropout_add_rms_norm = partial(dropout_add_norm, True)
dropout_add_rms_norm_subset = partial(dropout_add_norm_subset, True)
dropout_add_rms_norm_parallel_residual = partial(dropout_add_norm_parallel_residual, True)


def rms_norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """Divide the last dimension of ``x`` by its root mean square."""
    return dropout_add_norm(True, x, None, weight, None, 0.0, epsilon)  # type: ignore[no-any-return]


class DropoutAddRMSNorm(DropoutAddNorm):
    """Root mean square normalization with dropout and a residual."""

    is_rms_norm = True


class RMSNorm(torch.nn.Module):
    """Root mean square normalization."""

    def __init__(
        self,
        hidden_size: int,
        eps: float = 1e-5,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.empty(hidden_size, device=device, dtype=dtype))
        self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to one."""
        torch.nn.init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Normalize the last dimension of ``x``."""
        return rms_norm(x, self.weight, self.eps)
