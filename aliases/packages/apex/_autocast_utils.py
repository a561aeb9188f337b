"""Casts the arguments of apex's own functions, which autocast does not know."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

__all__ = ["_cast_if_autocast_enabled"]

P = ParamSpec("P")
R = TypeVar("R")


def _in_autocast() -> bool:
    """Return whether autocast is enabled for the device; fast if it is enabled for none."""
    return torch._C._is_any_autocast_enabled() and torch.is_autocast_enabled("cuda")


def _cast_if_autocast_enabled(*args: Any) -> tuple[Any, ...]:
    """Return the arguments, with tensors in autocast's dtype if it is enabled; float64 is unchanged."""
    if not _in_autocast():
        return args
    dtype = torch.get_autocast_dtype("cuda")
    return tuple(each.to(dtype) if _castable(each) else each for each in args)


def _castable(value: Any) -> bool:
    is_float = isinstance(value, Tensor) and value.is_floating_point()
    return is_float and value.is_cuda and value.dtype != torch.float64


def cast_by_autocast(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with its arguments cast as autocast would, and called outside autocast."""

    @functools.wraps(function)
    def cast(*args: P.args, **kwargs: P.kwargs) -> R:
        if not _in_autocast():
            return function(*args, **kwargs)
        given: Any = _cast_if_autocast_enabled(*args)
        named: Any = dict(zip(kwargs, _cast_if_autocast_enabled(*kwargs.values()), strict=True))
        with torch.amp.autocast("cuda", enabled=False):
            return function(*given, **named)

    return cast
