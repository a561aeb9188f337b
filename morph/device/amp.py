"""Automatic mixed precision: the state functions in C, and torch.cuda.amp's assumptions about its device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import wrapt

from morph.base.journal import Journal
from morph.device.parameters import Args, Handler, Kwargs
from morph.device.words import CUDA, Words

# The functions in C, each with the number of arguments of its form without a device type, which means CUDA.
STATE = {
    "is_autocast_enabled": 0,
    "set_autocast_enabled": 1,
    "get_autocast_dtype": None,
    "set_autocast_dtype": None,
    "_is_autocast_available": None,
}
# The older names of two of them, which always mean CUDA.
OF_THE_GPU = {"get_autocast_gpu_dtype": "get_autocast_dtype", "set_autocast_gpu_dtype": "set_autocast_dtype"}


def install(words: Words, journal: Journal) -> None:
    """Make autocast's state of "cuda" that of the backend's device."""
    for name, without_device in STATE.items():
        with journal.tolerating(f"torch.{name}"):
            _wrap_state(name, _with_device(words, without_device), words, journal)
    for name, general in OF_THE_GPU.items():
        with journal.tolerating(f"torch.{name}"):
            _wrap_state(name, _of_the_gpu(words, getattr(torch, general)), words, journal)


def _wrap_state(name: str, handler: Handler, words: Words, journal: Journal) -> None:
    wrapper = wrapt.FunctionWrapper(getattr(torch._C, name), handler, enabled=words.engaged)
    for holder in (torch._C, torch):
        if name in vars(holder):
            journal.set_attribute(holder, name, wrapper)
    _tell_torchscript(name, wrapper, journal)


def _tell_torchscript(name: str, wrapper: Any, journal: Journal) -> None:
    """Make TorchScript compile calls of the wrapper as it compiles those of the function in C."""
    builtins = torch.jit._builtins  # finds a function by its id()
    if name not in vars(torch):
        return
    if builtins._builtin_table is None:  # torch will build it, from torch's names at that time
        builtins._builtin_ops.append((wrapper.__wrapped__, f"aten::{name}"))
    else:
        journal.set_item(builtins._builtin_table, id(wrapper), f"aten::{name}")


def _with_device(words: Words, without_device: int | None) -> Handler:
    def call(wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> Any:
        if len(args) == without_device and not kwargs:
            args = (CUDA, *args)
        if args:
            return wrapped(words.device(args[0]), *args[1:], **kwargs)
        return wrapped(**{name: words.device(value) for name, value in kwargs.items()})

    return call


def _of_the_gpu(words: Words, general: Callable[..., Any]) -> Handler:
    def call(wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> Any:
        wrapped(*args, **kwargs)  # for its own check of the arguments, and its warning that it is deprecated
        return general(words.device_type(CUDA), *args)

    return call
