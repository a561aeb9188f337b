"""The casts of O1: torch's autocast, apex's additions to it, and the functions that programs register."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils import _pytree as pytree

from ._amp_state import _amp_state
from .handle import AmpHandle

Function = Callable[..., Any]

# computed in float32, and therefore impossible in place on a float16 tensor
IN_FLOAT32 = (
    "acos asin cosh cumprod cumsum erfinv exp expm1 log log10 log2 pow reciprocal renorm rsqrt sinh tan"
).split()
_registered: list[tuple[Any, str, Callable[[Function], Function]]] = []


def _casting(function: Function, dtype: torch.dtype, of: Callable[[list[Tensor]], bool]) -> Function:
    """Return a function with its floating-point arguments cast, while casts are on and ``of`` them holds."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        handle = getattr(_amp_state, "handle", None)
        if handle is None or not handle.is_active():
            return function(*args, **kwargs)
        if of([each for each in pytree.tree_leaves((args, kwargs)) if _is_float(each)]):
            args, kwargs = pytree.tree_map(
                lambda each: each.to(dtype) if _is_float(each) else each, (args, kwargs)
            )
        return function(*args, **kwargs)

    return wrapper


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and value.is_cuda


def _are_mixed(tensors: list[Tensor]) -> bool:
    dtypes = {tensor.dtype for tensor in tensors}
    if len(dtypes) > 1 and dtypes != {torch.float16, torch.float32}:
        raise NotImplementedError(f"Do not know how to handle these types to promote: {dtypes}")
    return len(dtypes) > 1


def half_function(fn: Function) -> Function:
    """Return ``fn`` with its floating-point arguments cast to float16 while O1's casts are on."""
    return _casting(fn, torch.float16, bool)


def float_function(fn: Function) -> Function:
    """Return ``fn`` with its floating-point arguments cast to float32 while O1's casts are on."""
    return _casting(fn, torch.float32, bool)


def promote_function(fn: Function) -> Function:
    """Return ``fn`` with float16 arguments cast to float32 if there are both, while O1's casts are on."""
    return _casting(fn, torch.float32, _are_mixed)


def register_half_function(module: Any, name: str) -> None:
    """Make the next ``initialize`` with O1 wrap ``module.name`` as ``half_function`` does.

    Raises:
        ValueError: If the module has no such function.
    """
    _register(module, name, half_function)


def register_float_function(module: Any, name: str) -> None:
    """Make the next ``initialize`` with O1 wrap ``module.name`` as ``float_function`` does."""
    _register(module, name, float_function)


def register_promote_function(module: Any, name: str) -> None:
    """Make the next ``initialize`` with O1 wrap ``module.name`` as ``promote_function`` does."""
    _register(module, name, promote_function)


def _register(module: Any, name: str, wrap: Callable[[Function], Function]) -> None:
    if not hasattr(module, name):
        raise ValueError(f"No function named {name} in module {module}.")
    _registered.append((module, name, wrap))


def init(
    enabled: bool = True,
    loss_scale: float | str = "dynamic",
    enable_caching: bool = True,
    verbose: bool = False,
    allow_banned: bool = False,
) -> AmpHandle:
    """Enable the casts of O1; called by ``initialize``.

    Args (the others are accepted without effect):
        enabled: Whether it has any effect.
        allow_banned: Whether ``binary_cross_entropy`` of float16 is computed in float32 instead of refused.

    Returns:
        The handle.
    """
    handle = AmpHandle()
    if not enabled:
        return handle
    while _registered:
        module, name, wrap = _registered.pop()
        handle._replace(module, name, wrap(getattr(module, name)))
    handle._replace(Tensor, "cpu", float_function(Tensor.cpu))
    for name in IN_FLOAT32:
        if hasattr(Tensor, f"{name}_"):
            refusal = f"{name}_ is computed in float32, and cannot be written over float16; use {name}"
            handle._replace(Tensor, f"{name}_", _refusing_half(getattr(Tensor, f"{name}_"), refusal))
    own = float_function(F.binary_cross_entropy)  # which torch's autocast always refuses
    unsafe = (
        "binary_cross_entropy and BCELoss are unsafe in float16; use binary_cross_entropy_with_logits or "
        "BCEWithLogitsLoss, give them float32, or say amp.init(allow_banned=True)"
    )
    handle._replace(F, "binary_cross_entropy", _uncast(own if allow_banned else _refusing_half(own, unsafe)))
    _amp_state.handle = handle
    handle._activate()
    return handle


def _refusing_half(function: Function, message: str) -> Function:
    @functools.wraps(function)
    def wrapper(input: Any, *args: Any, **kwargs: Any) -> Any:
        if _amp_state.handle.is_active() and input.dtype == torch.float16:
            raise NotImplementedError(f"amp: {message}")
        return function(input, *args, **kwargs)

    return wrapper


def _uncast(function: Function) -> Function:
    """Return a function that computes outside autocast, though it casts its arguments."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast("cuda", enabled=False):
            return function(*args, **kwargs)

    return wrapper
