"""Embedding of the patches of an image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ..ops.fused_dense import FusedDense


class PatchEmbed(nn.Module):
    """A linear layer over the patches of an image.

    Args:
        img_size: Height and width of the image, in pixels.
        patch_size: Height and width of a patch, in pixels.
        in_chans: How many channels the image has.
        embed_dim: The size of an embedding.
        norm_layer: Makes a norm, called with ``embed_dim``; None for none.
        flatten: Whether the patches are one dimension of the result, and not two.
        bias: Whether the layer has a bias.
        fused_bias_fc: Whether the layer is a ``FusedDense``.
    """

    def __init__(
        self,
        img_size: int | tuple[int, int] = 224,
        patch_size: int | tuple[int, int] = 16,
        in_chans: int = 3,
        embed_dim: int = 768,
        norm_layer: Callable[[int], nn.Module] | None = None,
        flatten: bool = True,
        bias: bool = True,
        fused_bias_fc: bool = False,
    ) -> None:
        super().__init__()
        self.img_size, self.patch_size = _pair(img_size), _pair(patch_size)
        self.grid_size = tuple(
            whole // part for whole, part in zip(self.img_size, self.patch_size, strict=True)
        )
        self.num_patches = self.grid_size[0] * self.grid_size[1]
        self.flatten = flatten
        linear: Any = FusedDense if fused_bias_fc and bias else nn.Linear
        self.proj = linear(in_chans * self.patch_size[0] * self.patch_size[1], embed_dim, bias=bias)
        self.norm = norm_layer(embed_dim) if norm_layer else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """Embed the patches of images of shape (batch, channels, height, width)."""
        _, _, height, width = x.shape
        _require("height", height, self.img_size[0])
        _require("width", width, self.img_size[1])
        rows = x.unflatten(2, (-1, self.patch_size[0]))  # type: ignore[no-untyped-call]
        patches = rows.unflatten(4, (-1, self.patch_size[1])).permute(0, 2, 4, 1, 3, 5).flatten(3)
        out = self.proj(patches)
        return self.norm(out.flatten(1, 2) if self.flatten else out)  # type: ignore[no-any-return]


def _require(name: str, size: int, expected: int) -> None:
    message = f"Input image {name} ({size}) doesn't match model ({expected})."
    torch._assert(size == expected, message)  # type: ignore[no-untyped-call]


def _pair(size: int | tuple[int, int]) -> tuple[int, int]:
    return size if isinstance(size, tuple) else (size, size)
