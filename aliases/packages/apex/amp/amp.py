"""The casts of O1, and the functions that programs register for them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import casts, utils, wrap
from ._amp_state import _amp_state
from ._amp_state import maybe_print as maybe_print
from ._amp_state import warn_or_err as warn_or_err
from .frontend import O0 as O0
from .frontend import O1 as O1
from .frontend import O2 as O2
from .frontend import O3 as O3
from .frontend import Properties as Properties
from .frontend import initialize as initialize
from .frontend import load_state_dict as load_state_dict
from .frontend import opt_levels as opt_levels
from .frontend import state_dict as state_dict
from .handle import AmpHandle as AmpHandle
from .handle import NoOpHandle as NoOpHandle

Function = Callable[..., Any]

_DECORATOR_HANDLE: AmpHandle | NoOpHandle | None = None
_USER_CAST_REGISTRY: set[tuple[Any, str, utils.Cast]] = set()
_USER_PROMOTE_REGISTRY: set[tuple[Any, str]] = set()


def _decorator_helper(orig_fn: Function, cast_fn: utils.Cast, wrap_fn: Function) -> Function:
    @functools.wraps(orig_fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        handle = _DECORATOR_HANDLE
        if handle is None or not handle.is_active():
            return orig_fn(*args, **kwargs)
        inner_cast_fn = utils.verbosify(cast_fn, orig_fn.__name__, handle.verbose)
        return wrap_fn(orig_fn, inner_cast_fn, handle)(*args, **kwargs)

    return wrapper


def half_function(fn: Function) -> Function:
    """Return ``fn`` with its floating-point arguments cast to float16 while O1's casts are on."""
    return _decorator_helper(
        fn, utils.maybe_half, functools.partial(wrap.make_cast_wrapper, try_caching=True)
    )


def float_function(fn: Function) -> Function:
    """Return ``fn`` with its floating-point arguments cast to float32 while O1's casts are on."""
    return _decorator_helper(fn, utils.maybe_float, wrap.make_cast_wrapper)


def promote_function(fn: Function) -> Function:
    """Return ``fn`` with float16 arguments cast to float32 if there are both, while O1's casts are on."""
    return _decorator_helper(fn, utils.maybe_float, wrap.make_promote_wrapper)


def register_half_function(module: Any, name: str) -> None:
    """Make the next ``initialize`` with O1 wrap ``module.name`` as ``half_function`` does.

    Raises:
        ValueError: If the module has no such function.
    """
    _check_function(module, name)
    _USER_CAST_REGISTRY.add((module, name, utils.maybe_half))


def register_float_function(module: Any, name: str) -> None:
    """Make the next ``initialize`` with O1 wrap ``module.name`` as ``float_function`` does.

    Raises:
        ValueError: If the module has no such function.
    """
    _check_function(module, name)
    _USER_CAST_REGISTRY.add((module, name, utils.maybe_float))


def register_promote_function(module: Any, name: str) -> None:
    """Make the next ``initialize`` with O1 wrap ``module.name`` as ``promote_function`` does.

    Raises:
        ValueError: If the module has no such function.
    """
    _check_function(module, name)
    _USER_PROMOTE_REGISTRY.add((module, name))


def _check_function(module: Any, name: str) -> None:
    if not hasattr(module, name):
        raise ValueError(f"No function named {name} in module {module}.")


def init(
    enabled: bool = True,
    loss_scale: float | str = "dynamic",
    enable_caching: bool = True,
    verbose: bool = False,
    allow_banned: bool = False,
) -> AmpHandle | NoOpHandle:
    """Enable the casts of O1; called by ``initialize``.

    Args:
        enabled: Whether it has any effect.
        loss_scale: As for ``LossScaler``.
        enable_caching: Whether functions that programs registered cast a parameter once in each step.
        verbose: Whether casts of such functions are printed.
        allow_banned: Whether ``binary_cross_entropy`` of float16 is computed in float32 instead of refused.

    Returns:
        The handle.
    """
    global _DECORATOR_HANDLE
    if not enabled:
        _DECORATOR_HANDLE = NoOpHandle()
        return _DECORATOR_HANDLE
    handle = AmpHandle(loss_scale, enable_caching, verbose)
    while _USER_CAST_REGISTRY:
        module, name, cast_fn = _USER_CAST_REGISTRY.pop()
        wrap.cached_cast(module, name, cast_fn, handle, cast_fn == utils.maybe_half, verbose)
    while _USER_PROMOTE_REGISTRY:
        module, name = _USER_PROMOTE_REGISTRY.pop()
        wrap.promote(module, name, handle, verbose)
    casts.switch_on(handle, verbose, allow_banned)
    _DECORATOR_HANDLE = _amp_state.handle = handle
    return handle
