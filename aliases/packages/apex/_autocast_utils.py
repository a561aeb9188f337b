"""Casts the arguments of apex's own functions, which autocast does not know."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["_cast_if_autocast_enabled"]


def in_autocast() -> bool:
    """Return whether autocast is enabled for the device; fast if it is enabled for none."""
    return torch._C._is_any_autocast_enabled() and torch.is_autocast_enabled("cuda")


def _get_autocast_dtypes() -> list[torch.dtype]:
    if torch.cuda.is_bf16_supported():
        return [torch.half, torch.bfloat16]
    return [torch.half]


def _get_current_dtype(dtype: torch.dtype | None = None) -> torch.dtype:
    if not torch.is_autocast_enabled("cuda"):
        return dtype or torch.float
    return torch.get_autocast_dtype("cuda")


def _cast_if_autocast_enabled(*args: Any) -> tuple[Any, ...]:
    """Return the arguments, with tensors in autocast's dtype if it is enabled; float64 is unchanged."""
    if not in_autocast():
        return args
    dtype = torch.get_autocast_dtype("cuda")
    return tuple(each.to(dtype) if _castable(each) else each for each in args)


def _castable(value: Any) -> bool:
    return (
        isinstance(value, Tensor)
        and value.is_floating_point()
        and value.is_cuda
        and value.dtype != torch.float64
    )
