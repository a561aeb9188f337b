"""Normalisation of groups of channels, with an activation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["GroupNorm"]

SWISH = ("silu", "swish")


def torch_group_norm(
    x: Tensor, g: int, w: Tensor | None, b: Tensor | None, eps: float, act: str | None = ""
) -> Tensor:
    """Normalise groups of channels in the parameters' dtype and apply the activation, like ``GroupNorm``."""
    output = F.group_norm(x if w is None else x.to(w.dtype), g, w, b, eps)
    return (F.silu(output) if act in SWISH else output).to(x.dtype)


def cuda_group_norm_nhwc_one_pass(
    x: Tensor, G: int, weight: Tensor, bias: Tensor, eps: float, act: str | None = None
) -> Tensor:
    """Do what ``torch_group_norm`` does, with a ``torch.channels_last`` input."""
    act = act.lower() if act else act
    assert x.is_contiguous(memory_format=torch.channels_last), "Only support NHWC layout."
    assert weight.numel() == bias.numel() == x.shape[1], "Unexpected parameter count."
    assert x.shape[1] % G == 0, "C % G != 0."
    assert not act or act in SWISH, "Unsupported activation."
    return torch_group_norm(x, G, weight, bias, eps, act)


cuda_group_norm_nhwc_two_pass = cuda_group_norm_v2_nhwc = cuda_group_norm_nhwc_one_pass


class GroupNorm(nn.Module):
    """Normalisation of groups of channels, like ``torch.nn.GroupNorm``, with an activation.

    Args:
        num_groups: The number of groups.
        num_channels: The number of channels.
        eps: Added to the variance.
        affine: Whether there are weight and bias.
        device: The parameters' device.
        dtype: The dtype of the parameters and the computation.
        act: ``"silu"`` or ``"swish"``, which are the same, or None.

    Raises:
        ValueError: If the number of channels is not a multiple of the number of groups.
    """

    num_groups: int
    num_channels: int
    eps: float
    affine: bool
    act: str | None
    weight: Any
    bias: Any

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: torch.dtype | None = None,
        act: str | None = None,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError("num_channels must be divisible by num_groups")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self.act = act.lower() if act else act
        for name in ("weight", "bias"):
            value = torch.empty(num_channels, device=device, dtype=dtype) if affine else None
            self.register_parameter(name, None if value is None else nn.Parameter(value))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to one and the bias to zero."""
        if self.affine:
            nn.init.ones_(self.weight)
            nn.init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """Normalise.

        Args:
            input: Of shape (N, channels, ...), in any memory format.

        Returns:
            The output, of the input's shape, dtype and memory format.
        """
        return torch_group_norm(input, self.num_groups, self.weight, self.bias, self.eps, self.act)

    def extra_repr(self) -> str:
        """Return the options for ``repr``."""
        act = f", act={self.act}" if self.act else ""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}{act}"
