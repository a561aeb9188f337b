"""Tensors of the simulated device in other processes: they map the memory of the process that has them.

As with CUDA, the sender keeps its tensor for as long as a receiver uses it.
"""

from __future__ import annotations

import os
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.multiprocessing import reductions

from morph.software import machine as machines
from morph.software.machine import Machine, started


def register(machine: Machine) -> None:
    """Makes queues and pipes of torch.multiprocessing carry the device's storages without copying them."""
    ForkingPickler.register(torch.UntypedStorage, _reduce)


def _reduce(storage: torch.UntypedStorage) -> Any:
    machine = started()
    if storage.device.type != machine.device_type:
        return reductions.reduce_storage(storage)  # type: ignore[no-untyped-call]
    place = (0, 0, 0)
    if storage.nbytes():
        place = machine.native.share_memory(storage.data_ptr())
    identity = (machine.facts.name, machine.count, machine.memory)
    return _rebuild, (identity, os.getpid(), place, storage.nbytes(), storage.device.index)


def _rebuild(
    identity: tuple[str, int, int], process: int, place: tuple[int, int, int], size: int, index: int
) -> torch.UntypedStorage:
    machines.start(*identity)
    machine = started()
    device = torch.device(machine.device_type, index)
    if size == 0:
        return torch.UntypedStorage(0, device=device)  # type: ignore[no-untyped-call]
    file, offset, inside = place
    start = machine.native.open_shared_memory(f"/proc/{process}/fd/{file}", offset, inside + size)
    storage = torch._C._construct_storage_from_data_pointer(start + inside, device, size)
    assert isinstance(storage, torch.UntypedStorage)
    return storage
