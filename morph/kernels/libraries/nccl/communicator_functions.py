"""The functions of libnccl that make communicators, and those that gather calls."""

from __future__ import annotations

import ctypes
import functools
import re
from ctypes import POINTER, c_int, c_void_p
from typing import TYPE_CHECKING, Any

import torch

from morph.kernels.libraries.callbacks import Callbacks, PerThread, required
from morph.kernels.libraries.nccl.communicators import Communicator, new_address, store_at
from morph.kernels.libraries.nccl.ranks import Calls, Handles, InvalidArgument

if TYPE_CHECKING:
    from morph.kernels.libraries.loading import Loaded

IDENTITY = 128  # bytes of an ncclUniqueId


class UniqueId(ctypes.Structure):
    """ncclUniqueId."""

    _fields_ = [("internal", ctypes.c_byte * IDENTITY)]


def add_making(calls: Callbacks, thread: PerThread[Calls], handles: Handles) -> None:
    """Serve what makes communicators."""

    make = functools.partial(_make, thread, handles)

    @calls.serve("ncclGetUniqueId", takes=(POINTER(UniqueId),))
    def unique(answer: Any) -> None:
        ctypes.memmove(required(answer), new_address().encode().ljust(IDENTITY, b"\0"), IDENTITY)

    @calls.serve("ncclCommGetUniqueId", takes=(c_void_p, POINTER(UniqueId)))
    def unique_of(handle: int, answer: Any) -> None:
        handles.communicator(handle)
        unique(answer)

    @calls.serve("ncclCommInitRank", takes=(POINTER(c_void_p), c_int, UniqueId, c_int))
    def init(answer: Any, size: int, identity: UniqueId, rank: int) -> None:
        make(answer, size, _address(identity), rank)

    @calls.serve("ncclCommInitRankConfig", takes=(POINTER(c_void_p), c_int, UniqueId, c_int, c_void_p))
    def init_with(answer: Any, size: int, identity: UniqueId, rank: int, config: int) -> None:
        make(answer, size, _address(identity), rank)

    @calls.serve(
        "ncclCommInitRankScalable",
        takes=(POINTER(c_void_p), c_int, c_int, c_int, POINTER(UniqueId), c_void_p),
    )
    def init_scalable(answer: Any, size: int, rank: int, count: int, identities: Any, config: int) -> None:
        if not 1 <= count <= size:
            raise InvalidArgument(f"{count} ids for {size} ranks")
        make(answer, size, _address(identities[0]), rank)

    @calls.serve("ncclCommInitAll", takes=(POINTER(c_void_p), c_int, POINTER(c_int)))
    def init_all(answers: Any, size: int, devices: Any) -> None:
        if size < 0:
            raise InvalidArgument(f"{size} devices")
        first, there = ctypes.addressof(required(answers).contents), torch.cuda.device_count()
        chosen = [devices[rank] if devices else rank for rank in range(size)]
        for device in chosen:
            if not 0 <= device < there:
                raise InvalidArgument(f"device {device} of {there}")
        address = new_address()
        thread().depth += 1
        for rank, device in enumerate(chosen):
            make(ctypes.cast(first + 8 * rank, POINTER(c_void_p)), size, address, rank, device)
        thread().depth -= 1
        if not thread().depth:
            thread().flush()


def add_splitting(calls: Callbacks, thread: PerThread[Calls], handles: Handles) -> None:
    """Serve what makes a communicator from a part of another one."""

    @calls.serve("ncclCommSplit", takes=(c_void_p, c_int, c_int, POINTER(c_void_p), c_void_p))
    def split(handle: int, color: int, key: int, answer: Any, config: int) -> None:
        parent = handles.communicator(handle)
        place = ctypes.cast(answer, c_void_p).value

        def join() -> None:
            made = parent.split(color, key)
            if made is not None:
                made.join()
            c_void_p.from_address(place or 0).value = None if made is None else handles.add(made)

        thread().join(join)


def add_ending(calls: Callbacks, handles: Handles) -> None:
    """Serve what ends communicators."""

    @calls.serve("ncclCommFinalize", takes=(c_void_p,))
    def finalize(handle: int) -> None:
        handles.communicator(handle).settle()

    @calls.serve("ncclCommDestroy", takes=(c_void_p,))
    def destroy(handle: int) -> None:
        handles.drop(handle).settle()

    @calls.serve("ncclCommAbort", takes=(c_void_p,))
    def abort(handle: int) -> None:
        handles.drop(handle)


def add_groups(calls: Callbacks, library: Loaded, thread: PerThread[Calls]) -> None:
    """Serve what gathers calls."""

    @calls.serve("ncclGroupStart")
    def start() -> None:
        thread().depth += 1

    @calls.serve("ncclGroupEnd")
    def end() -> int:
        if not thread().depth:
            thread().error = "ncclGroupEnd: not in a group"
            library.say(library.table.refusal, thread().error)
            return library.table.refusal
        thread().depth -= 1
        if not thread().depth:
            thread().flush()
        return 0


def _make(
    thread: PerThread[Calls],
    handles: Handles,
    answer: Any,
    size: int,
    address: str,
    rank: int,
    device: int | None = None,
) -> None:
    """Give out the handle of a communicator, which meets its other ranks at the end of the group."""
    if not 0 <= rank < size:
        raise InvalidArgument(f"rank {rank} of {size}")
    made = Communicator(None, rank, size, torch.cuda.current_device() if device is None else device)
    answer[0] = handles.add(made)

    def join() -> None:
        made.store = store_at(address)
        made.join()

    thread().join(join)


def _address(identity: UniqueId) -> str:
    address = bytes(identity.internal).rstrip(b"\0").decode(errors="replace")
    if not re.fullmatch(r"[\w.-]+:\d+", address):
        raise InvalidArgument("not the id of ncclGetUniqueId")
    return address
