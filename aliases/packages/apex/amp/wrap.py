"""Replaces functions by wrappers that cast their arguments while casts are on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import utils
from ._amp_state import _amp_state

Function = Callable[..., Any]


def make_cast_wrapper(
    orig_fn: Function, cast_fn: utils.Cast, handle: Any, try_caching: bool = False
) -> Function:
    """Return a function that casts all floating-point arguments and calls ``orig_fn``.

    Args:
        orig_fn: The function.
        cast_fn: Casts a tensor or a sequence of them.
        handle: Knows whether casts are on.
        try_caching: Whether a parameter is cast once until the handle's cache is cleared.
    """

    @functools.wraps(orig_fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not handle.is_active():
            return orig_fn(*args, **kwargs)
        if try_caching and handle.has_cache:
            args = tuple(_from_cache(cast_fn, each, handle) for each in args)
            kwargs = {name: _from_cache(cast_fn, each, handle) for name, each in kwargs.items()}
        args = tuple(utils.casted_args(cast_fn, args, kwargs))
        return orig_fn(*args, **kwargs)

    return wrapper


def _from_cache(cast_fn: utils.Cast, value: Any, handle: Any) -> Any:
    return utils.cached_cast(cast_fn, value, handle.cache) if utils.should_cache(value) else value


def cached_cast(
    mod: Any, fn: str, cast_fn: utils.Cast, handle: Any, try_caching: bool = False, verbose: bool = False
) -> None:
    """Replace ``mod.fn`` with a wrapper from ``make_cast_wrapper``, if there is such a function."""
    if utils.has_func(mod, fn):
        cast_fn = utils.verbosify(cast_fn, fn, verbose)
        wrapper = make_cast_wrapper(utils.get_func(mod, fn), cast_fn, handle, try_caching)
        utils.set_func_save(handle, mod, fn, wrapper)


def make_promote_wrapper(orig_fn: Function, cast_fn: utils.Cast, handle: Any = None) -> Function:
    """Return a function that casts its floating-point arguments if they are of several types.

    Args:
        orig_fn: The function.
        cast_fn: Casts a tensor or a sequence of them to the widest type.
        handle: Ignored: the process's own handle determines whether casts are on.

    Raises:
        NotImplementedError: By the function, if an argument is neither float16 nor float32.
    """

    @functools.wraps(orig_fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        types = utils.collect_fp_tensor_types(args, kwargs) if _amp_state.handle.is_active() else set()
        if len(types) > 1:
            if types != {"HalfTensor", "FloatTensor"}:
                raise NotImplementedError(f"Do not know how to handle these types to promote: {types}")
            args = tuple(utils.casted_args(cast_fn, args, kwargs))
        return orig_fn(*args, **kwargs)

    return wrapper


def promote(mod: Any, fn: str, handle: Any, verbose: bool = False) -> None:
    """Replace ``mod.fn`` with a wrapper from ``make_promote_wrapper``."""
    cast_fn = utils.verbosify(utils.maybe_float, fn, verbose)
    wrapper = make_promote_wrapper(utils.get_func(mod, fn), cast_fn)
    utils.set_func_save(handle, mod, fn, wrapper)


def err_if_arg0_half(mod: Any, fn: str, handle: Any, verbose: bool = False) -> None:
    """Replace ``mod.fn`` with a function that refuses float16, if there is such a function.

    Raises:
        NotImplementedError: By the function, if its first argument is float16 while casts are on.
    """
    if not utils.has_func(mod, fn):
        return
    orig_fn = utils.get_func(mod, fn)

    @functools.wraps(orig_fn)
    def wrapper(arg0: Any, *args: Any, **kwargs: Any) -> Any:
        if handle.is_active() and utils.type_string(arg0) == "HalfTensor":
            raise NotImplementedError(
                f"amp: {fn} is computed in float32, and cannot be written over float16; use the function "
                "that returns its result"
            )
        return orig_fn(arg0, *args, **kwargs)

    utils.set_func_save(handle, mod, fn, wrapper)
