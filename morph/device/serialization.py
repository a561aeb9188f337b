"""Checkpoints: read where they say "cuda", and written so that a CUDA machine without morph reads them."""

from __future__ import annotations

import copyreg
import re
from collections import ChainMap
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from morph.device.parameters import Handler, wrap
from morph.device.words import CUDA, Words
from morph.journal import Journal

PRIORITY = 1  # before torch's own, which begin at 10
_LOCATION = re.compile(r"cuda:?(?P<index>\d+)?")


def install(words: Words, journal: Journal) -> None:
    """Register how storages of the backend's device are tagged, and where those tagged "cuda" go.

    Args:
        words: What CUDA's words become.
        journal: Records every rebinding.
    """
    _register(_tagger(words), _restorer(words), journal)
    if not words.on_cpu:
        for name in ("torch.serialization:_save", "torch.serialization:_legacy_save"):
            wrap(name, lambda function: _pickling_devices(words), words, journal)


def _register(tagger: Callable[[Any], Any], restorer: Callable[[Any, str], Any], journal: Journal) -> None:
    registry: list[Any] = torch.serialization._package_registry
    entry = PRIORITY, tagger, restorer
    journal.on_undo(lambda: registry.remove(entry))
    torch.serialization.register_package(*entry)


def _tagger(words: Words) -> Callable[[Any], str | None]:
    own = words.device_type(CUDA)

    def tag(storage: Any) -> str | None:
        device = storage.device
        return f"{CUDA}:{device.index}" if device.type == own and not words.on_cpu else None

    return tag


def _restorer(words: Words) -> Callable[[Any, str], Any]:
    def restore(storage: Any, location: str) -> Any:
        match = _LOCATION.fullmatch(location)
        if match is None:
            return None
        index = None if match["index"] is None else int(match["index"])
        _check_index(index, words.backend.namespace.device_count())
        return storage.to(device=torch.device(CUDA, index) if index is not None else torch.device(CUDA))

    return restore


def _check_index(index: int | None, count: int) -> None:
    if index is not None and index >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {index} but torch.cuda.device_count() is {count}. "
            "Please use torch.load with map_location to map your storages to an existing device."
        )


def _pickling_devices(words: Words) -> Handler:
    """Have torch.save pickle the backend's devices as CUDA's: a machine without the vendor can name them."""
    own = words.device_type(CUDA)

    def reduce(device: torch.device) -> tuple[Any, ...]:
        kind, arguments = device.__reduce__()  # type: ignore[misc]
        return kind, tuple(CUDA if argument == own else argument for argument in arguments)

    def call(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        target, file, pickle_module, *rest = args
        return wrapped(target, file, _with_reducer(pickle_module, reduce), *rest, **kwargs)

    return call


def _with_reducer(pickle_module: Any, reduce: Callable[[torch.device], Any]) -> Any:
    """Return what torch.save uses of a pickle module, with a pickler that reduces devices its own way."""
    table = ChainMap({torch.device: reduce}, copyreg.dispatch_table)
    pickler = type("Pickler", (pickle_module.Pickler,), {"dispatch_table": table})
    return SimpleNamespace(Pickler=pickler, dump=pickle_module.dump)
