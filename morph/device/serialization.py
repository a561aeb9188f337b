"""Checkpoints: "cuda" is read as the backend's device, and written for CUDA machines without morph."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch

from morph.base.journal import Journal
from morph.device.words import CUDA, Words

PRIORITY = 1  # before torch's own, which begin at 10
_LOCATION = re.compile(r"cuda(?::(?P<index>\d+))?")


def install(words: Words, journal: Journal) -> None:
    """Register the tags of storages on the backend's device, and the placement of those tagged "cuda"."""
    _register(_tagger(words), _restorer(words), journal)


def _register(tagger: Callable[[Any], Any], restorer: Callable[[Any, str], Any], journal: Journal) -> None:
    registry: list[Any] = torch.serialization._package_registry  # register_package has no counterpart
    entry = PRIORITY, tagger, restorer
    journal.on_undo(lambda: registry.remove(entry))
    torch.serialization.register_package(*entry)


def _tagger(words: Words) -> Callable[[Any], str | None]:
    own = words.device_type(CUDA)

    def tag(storage: Any) -> str | None:
        device = storage.device
        return f"{CUDA}:{device.index}" if device.type == own else None

    return tag


def _restorer(words: Words) -> Callable[[Any, str], Any]:
    def restore(storage: Any, location: str) -> Any:
        match = _LOCATION.fullmatch(location)
        if match is None:
            return None
        index = None if match["index"] is None else int(match["index"])
        _check_index(index, torch.cuda.device_count())
        return storage.to(device=torch.device(words.device(location)))

    return restore


def _check_index(index: int | None, count: int) -> None:
    if index is not None and index >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {index} but torch.cuda.device_count() is "
            f"{count}. Please use torch.load with map_location to map your storages to an existing device."
        )
