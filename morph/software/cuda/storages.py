"""Storages on the CUDA device.

Only a build for CUDA makes, resizes and shares them (torch/csrc/StorageSharing.cpp, ``#ifdef USE_CUDA``).
"""

from __future__ import annotations

import os
import struct
from typing import Any

import torch

from morph.base.journal import Journal
from morph.software import sharing
from morph.software.machine import started
from morph.software.sharing import Place

# as long as cudaIpcMemHandle_t; the receivers' counts are named like the file that torch's own are in
_MEMORY, _COUNTERS = struct.Struct("=qqq40x"), struct.Struct("=qq")
_OWN = 201  # of cudaError_t
_new: Any = torch.UntypedStorage.__new__
_resize: Any = torch.UntypedStorage.resize_


def place(journal: Journal) -> None:
    """Make torch's storage class accept the device; ``journal`` records it."""
    methods = {
        "__new__": new,
        "resize_": resize,
        "_share_cuda_": share,
        "_new_shared_cuda": classmethod(opened),
        "_release_ipc_counter_cuda": staticmethod(let_go),
    }
    for name, method in methods.items():
        journal.set_attribute(torch.UntypedStorage, name, method)


def new(cls: type, *arguments: Any, device: Any = None, **options: Any) -> Any:
    """Make a storage of a number of bytes, or of numbers."""
    place = None if device is None else torch.device(device)
    if place is None or place.type != "cuda":
        return _new(cls, *arguments, device=device, **options)
    content = arguments[0] if arguments else 0
    if isinstance(content, int):
        return torch.empty(content, dtype=torch.uint8, device=place).untyped_storage()
    return torch.tensor(list(content), dtype=torch.uint8, device=place).untyped_storage()


def resize(storage: torch.UntypedStorage, size: int) -> torch.UntypedStorage:
    """Change the size of a storage to a number of bytes."""
    if storage.is_cuda:
        started().native.resize_storage(storage._cdata, size)
    else:
        _resize(storage, size)
    return storage


def share(storage: torch.UntypedStorage) -> tuple[Any, ...]:
    """Implement ``_share_cuda_``: return what another process needs to open the storage.

    Returns:
        Device, handle of the memory, bytes, offset in that memory, handle of the counts, place in them,
        handle of an event, and whether to wait for that: never, since work is done when it is queued.

    Raises:
        RuntimeError: The storage is not CUDA's.
    """
    if not storage.is_cuda:
        raise RuntimeError("_share_cuda_: only available on CUDA")
    size, index = storage.nbytes(), storage.get_device()
    if not size:
        return index, None, 0, 0, b"", 0, b"", False
    shared = sharing.share(storage)
    memory = _MEMORY.pack(shared.process, shared.file, shared.segment)
    counters = _COUNTERS.pack(shared.process, shared.counters)
    return index, memory, size, shared.offset, counters, shared.counter, b"", False


def opened(
    cls: type,
    device: int,
    handle: bytes,
    size: int,
    offset: int,
    counters: bytes,
    counter: int,
    event: bytes,
    event_sync_required: bool,
) -> torch.UntypedStorage:
    """Implement ``_new_shared_cuda``: open the storage of another process."""
    process, file, segment = _MEMORY.unpack(handle)
    if process == os.getpid():
        started().native.refuse(_OWN)
    _, counts = _COUNTERS.unpack(counters)
    return sharing.open_shared(Place(process, file, segment, offset, counts, counter), size, device)


def let_go(counters: bytes, counter: int, **options: Any) -> None:
    """Implement ``_release_ipc_counter_cuda``, for a storage that this process has already opened."""
    process, counts = _COUNTERS.unpack(counters)
    sharing.let_go(process, counts, counter)
