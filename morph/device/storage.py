"""Storages: ``is_cuda``, and the legacy classes such as ``torch.cuda.FloatStorage``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
import wrapt

from morph.base.journal import Journal
from morph.device.parameters import Args, Handler, Kwargs, wrap
from morph.device.words import Words


def install(words: Words, journal: Journal) -> None:
    """Make storages on the backend's device appear as CUDA storages."""
    # it knows "cuda", "hpu" and the name of PrivateUse1; all else is the CPU, also torch.xpu (as of 2.13)
    wrap("torch.storage:_get_device_from_module", lambda function: _device_type(words), words, journal)
    for owner in (torch.storage._StorageBase, torch.UntypedStorage, torch.TypedStorage):
        original = vars(owner)["is_cuda"]
        getter = wrapt.FunctionWrapper(original.fget, _is_cuda(words))
        journal.set_attribute(owner, "is_cuda", original.getter(getter))


def _device_type(words: Words) -> Handler:
    def call(wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> Any:
        return words.device_type(wrapped(*args, **kwargs))

    return call


def _is_cuda(words: Words) -> Handler:
    own = words.device_type("cuda")

    def call(wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> Any:
        truth = wrapped(*args, **kwargs)
        # reduce_storage of torch.multiprocessing refuses a CUDA storage, which a storage on the CPU is not
        caller = sys._getframe(1).f_globals.get("__name__", "")
        return truth or (args[0].device.type == own and not caller.startswith("torch."))

    return call
