"""The device modules that torch looks up by name, and the default tensor type."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from morph.base.journal import Journal
from morph.device.parameters import Args, Handler, Kwargs, wrap
from morph.device.words import CUDA, Words


def install(words: Words, journal: Journal) -> None:
    """Serve CUDA's device module and CUDA's tensor types."""
    wrap("torch:get_device_module", lambda function: _device_module(words), words, journal)
    wrap("torch:set_default_tensor_type", lambda function: _default_tensor_type(words), words, journal)


def _device_module(words: Words) -> Handler:
    """Return the served torch.cuda for CUDA's name, and to code that sees CUDA for the device."""

    def call(wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> Any:
        device = args[0] if args else kwargs.get("device")
        if isinstance(device, str) and words.device(device) != device:
            return sys.modules["torch.cuda"]
        module = wrapped(*args, **kwargs)
        is_own = module is words.backend.namespace
        return sys.modules["torch.cuda"] if is_own and words.views.shows_cuda(sys._getframe(1)) else module

    return call


def _default_tensor_type(words: Words) -> Handler:
    """Set CUDA's tensor types as torch advises: as a default dtype and a default device.

    torch takes none of a vendor's own tensor types here: they are not of its own metaclass.
    """
    on_device = False

    def call(wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> Any:
        nonlocal on_device
        kind = args[0] if args else kwargs["t"]
        name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__name__}"
        was_on_device, on_device = on_device, words.tensor_dtype(name) is not None
        if on_device:
            wrapped(f"torch.{name.rpartition('.')[2]}")  # the dtype, and torch's warning
            torch.set_default_device(CUDA)
            return None
        if was_on_device:
            torch.set_default_device(None)
        return wrapped(*args, **kwargs)

    return call
