"""Pools of memory that the simulated device's allocator keeps apart, for graphs and for programs."""

from __future__ import annotations

import ctypes
import itertools
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from morph.software import devices, histories
from morph.software.devices import AnyDevice
from morph.software.machine import NotSimulatedError, started

Id = tuple[int, int]

_numbers = itertools.count(1)


def new_id() -> Id:
    """Return two numbers that identify a pool."""
    return 0, next(_numbers)


def new_id_of_graph() -> Id:
    """Return two numbers that identify a pool which a graph makes for itself."""
    return next(_numbers), 0


def _usable(address: int) -> int:
    usable: int = started().native.usable_address(address)
    return usable


class Contents:
    """What the memory in use of a pool holds at this moment.

    Args:
        device: The index of its device.
        pool: The pool.
    """

    def __init__(self, device: int, pool: Id) -> None:
        segments = started().native.memory_snapshot(False)
        own = (each for each in segments if each["device"] == device and each["segment_pool_id"] == pool)
        used = (block for each in own for block in each["blocks"] if block["state"] == "active_allocated")
        places = ((block["address"], block["requested_size"]) for block in used)
        self._bytes = {address: ctypes.string_at(_usable(address), size) for address, size in places}

    def put_back(self) -> None:
        """Write it to the same memory again."""
        for address, content in self._bytes.items():
            ctypes.memmove(_usable(address), content, len(content))


class MemPool:
    """A pool of memory; it holds its memory for as long as it lives."""

    def __init__(self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False) -> None:
        if allocator is not None:
            raise NotSimulatedError(f"{started().facts.module}.MemPool(allocator=...)")
        self._take(new_id())

    def _take(self, pool: Id) -> None:
        self._device, self._id = devices.current_device(), pool
        started().native.hold_pool(self._device, self._id)
        weakref.finalize(self, started().native.let_go_of_pool, self._device, self._id)

    @property
    def id(self) -> Id:
        """Two numbers that identify the pool."""
        return self._id

    @property
    def allocator(self) -> None:
        """None: the memory is the caching allocator's."""

    def use_count(self) -> int:
        """Return the number of holders of the pool: this object, and each block that takes memory from it."""
        return int(started().native.holders_of_pool(self._device, self._id))

    def snapshot(self, include_traces: bool = True) -> list[dict[str, Any]]:
        """Return the pool's segments, each with its blocks; traces are no part of them."""
        return histories.memory_snapshot(self._id, include_traces)


@contextmanager
def use_mem_pool(pool: MemPool, device: AnyDevice = None) -> Iterator[None]:
    """Take the memory of this thread from a pool for the length of a ``with`` block."""
    native, index = started().native, devices._get_device_index(device, optional=True)
    native.begin_pool(index, pool.id, native.Reach.THREAD)
    try:
        yield
    finally:
        native.end_pool(index, pool.id)
        native.let_go_of_pool(index, pool.id)
