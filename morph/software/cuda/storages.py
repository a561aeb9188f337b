"""Storages of CUDA's device, which torch makes and resizes in a build for it only."""

from __future__ import annotations

from typing import Any

import torch

from morph.journal import Journal
from morph.software.machine import started

_new: Any = torch.UntypedStorage.__new__
_resize: Any = torch.UntypedStorage.resize_


def place(journal: Journal) -> None:
    """Has torch's class of storages take the device; ``journal`` records it."""
    journal.set_attribute(torch.UntypedStorage, "__new__", new)
    journal.set_attribute(torch.UntypedStorage, "resize_", resize)


def new(cls: type, *arguments: Any, device: Any = None, **options: Any) -> Any:
    """Makes a storage of a number of bytes, or of numbers."""
    place = None if device is None else torch.device(device)
    if place is None or place.type != "cuda":
        return _new(cls, *arguments, device=device, **options)
    content = arguments[0] if arguments else 0
    if isinstance(content, int):
        return torch.empty(content, dtype=torch.uint8, device=place).untyped_storage()
    return torch.tensor(list(content), dtype=torch.uint8, device=place).untyped_storage()


def resize(storage: torch.UntypedStorage, size: int) -> torch.UntypedStorage:
    """Gives a storage another number of bytes."""
    if storage.is_cuda:
        started().native.resize_storage(storage._cdata, size)
    else:
        _resize(storage, size)
    return storage
