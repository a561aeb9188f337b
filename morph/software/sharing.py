"""Storages of the device in other processes: they map the memory of the process that has them.

As with CUDA, memory that was sent is not used again while a receiver has it, and what was received cannot be
sent on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

import torch
from torch.multiprocessing import reductions

from morph.software.machine import Machine, started
from morph.software.settings import Size


class Place(NamedTuple):
    """The place of a storage, for another process.

    Attributes:
        process: The one that has it.
        file: Its memory file there.
        segment: Where the storage's segment begins in the file.
        offset: Where the storage begins in the segment.
        counters: The file of the receivers' counts there.
        counter: The place of this storage's count in it.
    """

    process: int
    file: int
    segment: int
    offset: int
    counters: int
    counter: int


def share(storage: torch.UntypedStorage) -> Place:
    """Share a storage that is not empty with one more process, which has to open or release it."""
    return Place(os.getpid(), *started().native.share_storage(storage))


def open_shared(place: Place, size: int, index: int) -> torch.UntypedStorage:
    """Return the storage that another process has shared.

    Args:
        place: As ``share`` gave it there.
        size: Its bytes.
        index: The device that it is said to be on.
    """
    process, file, segment, offset, counters, counter = place
    native = started().native
    storage = native.open_shared_storage(process, file, segment, offset, counters, counter, size, index)
    assert isinstance(storage, torch.UntypedStorage)
    return storage


def let_go(process: int, counters: int, counter: int) -> None:
    """Tell the process that shared a storage that this one had it already."""
    started().native.let_go_of_shared(process, counters, counter)


def register(machine: Machine) -> None:
    """Make queues and pipes of torch.multiprocessing carry the device's storages without copying them."""
    ForkingPickler.register(torch.UntypedStorage, _reduce)


def _reduce(storage: torch.UntypedStorage) -> Any:
    machine = started()
    if storage.device.type != machine.device_type:
        return reductions.reduce_storage(storage)  # type: ignore[no-untyped-call]
    place = share(storage) if storage.nbytes() else None
    identity = machine.facts.name, Size(machine.total, machine.memory, machine.card and machine.card.name)
    return _rebuild, (machine.start, identity, place, storage.nbytes(), storage.device.index)


def _rebuild(
    start: Callable[[str, Size], object],
    identity: tuple[str, Size],
    place: Place | None,
    size: int,
    index: int,
) -> Any:
    start(*identity)
    if place is None:
        device = torch.device(started().device_type, index)
        return torch.UntypedStorage(0, device=device)  # type: ignore[no-untyped-call]
    return open_shared(place, size, index)
