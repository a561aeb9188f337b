"""Casts arguments."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from typing import Any

import torch
from torch import Tensor

Cast = Callable[..., Any]


def is_nested(x: Any) -> bool:
    """Return whether ``x`` is a tuple or a list."""
    return isinstance(x, tuple | list)


def is_fp_tensor(x: Any) -> bool:
    """Return whether ``x`` is a floating-point tensor, or a sequence of only such tensors."""
    if is_nested(x):
        return all(is_fp_tensor(each) for each in x)
    return isinstance(x, Tensor) and x.is_floating_point()


def should_cache(x: Any) -> bool:
    """Return whether ``x`` is a float32 parameter, or a sequence of only such parameters."""
    if is_nested(x):
        return all(should_cache(each) for each in x)
    return isinstance(x, torch.nn.Parameter) and x.dtype == torch.float32


def type_string(x: Tensor) -> str:
    """Return the name of a tensor's type without its module: ``"FloatTensor"``."""
    return str(x.type()).rpartition(".")[2]


def collect_fp_tensor_types(args: Iterable[Any], kwargs: dict[str, Any]) -> set[str]:
    """Return the types of all floating-point tensors among arguments."""
    return set(itertools.chain.from_iterable(_types(each) for each in [*args, *kwargs.values()]))


def _types(x: Any) -> Iterator[str]:
    if not is_fp_tensor(x):
        return
    for each in x if is_nested(x) else (x,):
        yield from _types(each) if is_nested(each) else (type_string(each),)


def maybe_half(x: Any, name: str = "", verbose: bool = False) -> Any:
    """Return a tensor on the device, or a sequence of them, in float16; other tensors unchanged."""
    return _cast(x, torch.float16, f"Float->Half ({name})" if verbose else "")


def maybe_float(x: Any, name: str = "", verbose: bool = False) -> Any:
    """Return a tensor on the device, or a sequence of them, in float32; other tensors unchanged."""
    return _cast(x, torch.float32, f"Half->Float ({name})" if verbose else "")


def _cast(x: Any, dtype: torch.dtype, message: str) -> Any:
    if is_nested(x):
        return type(x)([_cast(each, dtype, message) for each in x])
    if not x.is_cuda or x.dtype == dtype:
        return x
    if message:
        print(message)
    return x.to(dtype)


def casted_args(cast_fn: Cast, args: Iterable[Any], kwargs: dict[str, Any]) -> list[Any]:
    """Return positional arguments with their floating-point tensors cast, and cast ``kwargs`` in place."""
    for name, value in kwargs.items():
        if is_fp_tensor(value):
            kwargs[name] = cast_fn(value)
    return [cast_fn(each) if is_fp_tensor(each) else each for each in args]


def cached_cast(cast_fn: Cast, x: Any, cache: MutableMapping[Any, Any]) -> Any:
    """Return ``cast_fn(x)``, computed once per parameter as long as ``requires_grad`` is unchanged."""
    if is_nested(x):
        return type(x)([cached_cast(cast_fn, each, cache) for each in x])
    kept = cache.get(x)
    if kept is None or (torch.is_grad_enabled() and x.requires_grad != kept.requires_grad):
        kept = cache[x] = cast_fn(x)
    return kept


def verbosify(cast_fn: Cast, fn_name: str, verbose: bool) -> Cast:
    """Return ``cast_fn``, which prints its casts if ``verbose``."""
    return functools.partial(cast_fn, name=fn_name, verbose=verbose) if verbose else cast_fn


def as_inplace(fns: Iterable[str]) -> Iterator[str]:
    """Iterate over the names of the in-place forms of functions."""
    return (f"{name}_" for name in fns)


def has_func(mod: Any, fn: str) -> bool:
    """Return whether a module, class or dict has an entry called ``fn``."""
    return fn in mod if isinstance(mod, dict) else hasattr(mod, fn)


def get_func(mod: Any, fn: str) -> Any:
    """Return the entry ``fn`` of a module, class or dict."""
    return mod[fn] if isinstance(mod, dict) else getattr(mod, fn)


def set_func(mod: Any, fn: str, new_fn: Any) -> None:
    """Set the entry ``fn`` of a module, class or dict to ``new_fn``."""
    if isinstance(mod, dict):
        mod[fn] = new_fn
    else:
        setattr(mod, fn, new_fn)


def set_func_save(handle: Any, mod: Any, fn: str, new_fn: Any) -> None:
    """Do what ``set_func`` does, and store the previous entry in ``handle``."""
    handle._save_func(mod, fn, get_func(mod, fn))
    set_func(mod, fn, new_fn)
