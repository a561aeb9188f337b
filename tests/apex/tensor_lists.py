"""Tensor lists for the operations of amp_C."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.testing import assert_close

CHUNK = 2048 * 32


def flag(value: int = 0) -> Tensor:
    return torch.tensor([value], dtype=torch.int, device="cuda")


def tensors(
    shapes: list[tuple[int, ...]], dtype: torch.dtype = torch.float32, seed: int = 0, scale: float = 1.0
) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [(scale * torch.randn(shape, generator=generator)).to("cuda", dtype) for shape in shapes]


def doubles(values: list[Tensor]) -> list[Tensor]:
    return [value.cpu().double() for value in values]


def close(actual: list[Tensor], expected: list[Tensor]) -> None:
    for value, wanted in zip(actual, expected, strict=True):
        tolerance = {torch.float32: 3e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}[value.dtype]
        assert_close(value.cpu().double(), wanted, rtol=tolerance, atol=tolerance)
