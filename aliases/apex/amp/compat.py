"""What differed between early releases of torch, as it is in this one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch


def variable_is_tensor() -> bool:
    """Return True: a Variable is a tensor."""
    return True


def tensor_is_variable() -> bool:
    """Tell whether a tensor's class is that of Variables; it is not."""
    return False


def tensor_is_float_tensor() -> bool:
    """Tell whether a tensor's class depends on its dtype; it does not."""
    return False


def is_tensor_like(x: Any) -> bool:
    """Tell whether ``x`` is a tensor."""
    return isinstance(x, torch.Tensor)


def is_floating_point(x: torch.Tensor) -> bool:
    """Tell whether a tensor's dtype is a floating-point one."""
    return x.is_floating_point()


def scalar_python_val(x: Any) -> Any:
    """Return the number that a tensor of one element holds."""
    return x.item()


def filter_attrs(module: Any, attrs: Iterable[str]) -> list[str]:
    """Return those names that ``module`` has."""
    return [name for name in attrs if hasattr(module, name)]
