"""NCCL's communicators on the software device: gloo, on the memory that host and device share."""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

import torch

from morph.kernels.libraries.nccl.reductions import Reduction
from morph.software.machine import started

SENT = 64  # messages that may be on their way to other ranks before a call waits for the oldest
NO_COLOR = -1

Begun = Callable[[], None]  # waits for what was begun


class Communicator:
    """One rank of a communicator.

    Args:
        store: Where its ranks find each other.
        rank: Its number.
        size: How many ranks there are.
        device: The device that it is on.
    """

    def __init__(self, store: Any, rank: int, size: int, device: int) -> None:
        self.store, self.rank, self.size, self.device = store, rank, size, device
        self._group: Any = None
        self._sent: list[tuple[Any, torch.Tensor]] = []
        self._to_itself: list[torch.Tensor] = []
        self._splits = 0

    def join(self) -> None:
        """Meet the other ranks."""
        from morph.software import distributed
        from morph.software.cuda.collectives import TIMEOUT

        self._group = distributed.gloo(self.store, self.rank, self.size, TIMEOUT)

    def split(self, color: int, key: int) -> Communicator | None:
        """Return this rank's communicator among those of its color, which it has to join."""
        from torch._C._distributed_c10d import PrefixStore

        mine = torch.tensor([color, key, self.rank])
        rows = [torch.zeros_like(mine) for _ in range(self.size)]
        self._group.allgather([rows], [mine]).wait()
        self._splits += 1
        if color == NO_COLOR:
            return None
        members = sorted((k, rank) for c, k, rank in (row.tolist() for row in rows) if c == color)
        store = PrefixStore(f"split {self._splits} {color}", self.store)
        return Communicator(store, members.index((key, self.rank)), len(members), self.device)

    def settle(self) -> None:
        """Wait until all that was sent has been received."""
        while self._sent:
            self._sent.pop(0)[0].wait()

    def all_reduce(self, to: torch.Tensor, source: torch.Tensor, reduction: Reduction) -> Begun:
        """Begin to reduce the ranks' ``source`` into ``to``."""
        carried = reduction.before(source, self.size)
        work = self._group.allreduce([carried], _with(torch.distributed.AllreduceOptions(), reduction))
        return _ending(work, lambda: to.copy_(reduction.after(carried, self.size)))

    def reduce(self, to: torch.Tensor | None, source: torch.Tensor, reduction: Reduction, root: int) -> Begun:
        """Begin to reduce the ranks' ``source`` into the root's ``to``."""
        carried = reduction.before(source, self.size)
        options = _with(torch.distributed.ReduceOptions(), reduction)
        options.rootRank = root
        work = self._group.reduce([carried], options)
        return _ending(work, lambda: to is None or to.copy_(reduction.after(carried, self.size)))

    def reduce_scatter(self, to: torch.Tensor, source: torch.Tensor, reduction: Reduction) -> Begun:
        """Begin to reduce the ranks' ``source``, of which each rank keeps its part."""
        carried = reduction.before(source, self.size)
        work = self._group.allreduce([carried], _with(torch.distributed.AllreduceOptions(), reduction))
        return _ending(
            work, lambda: to.copy_(reduction.after(carried, self.size).chunk(self.size)[self.rank])
        )

    def broadcast(self, to: torch.Tensor, source: torch.Tensor | None, root: int) -> Begun:
        """Begin to copy the root's ``source`` into every rank's ``to``."""
        if source is not None:
            to.copy_(source)
        options = torch.distributed.BroadcastOptions()
        options.rootRank = root
        carried = _bytes(to)
        return _ending(self._group.broadcast([carried], options))

    def all_gather(self, to: torch.Tensor, source: torch.Tensor) -> Begun:
        """Begin to put every rank's ``source`` into ``to``, one after the other."""
        parts = list(_bytes(to).chunk(self.size))
        return _ending(self._group.allgather([parts], [_bytes(source.clone())]))

    def exchange(self, to: torch.Tensor, source: torch.Tensor) -> Begun:
        """Begin to give each rank its part of ``source``, and to put the others' parts into ``to``."""
        work = self._group.alltoall_base(_bytes(to), _bytes(source.clone()), [], [])
        return _ending(work)

    def send(self, source: torch.Tensor, target: int) -> Begun:
        """Send a copy of ``source``; the receiver is not waited for."""
        copy = source.clone()
        if target == self.rank:
            self._to_itself.append(copy)
            return _nothing
        if len(self._sent) >= SENT:
            self._sent.pop(0)[0].wait()
        self._sent.append((self._group.send([_bytes(copy)], target, 0), copy))
        return _nothing

    def receive(self, to: torch.Tensor, source: int) -> Begun:
        """Begin to receive into ``to``."""
        if source == self.rank:
            return lambda: _copy(to, self._to_itself.pop(0))
        return _ending(self._group.recv([_bytes(to)], source, 0))

    def gather(self, to: torch.Tensor | None, source: torch.Tensor, root: int) -> Begun:
        """Begin to put every rank's ``source`` into the root's ``to``."""
        self.send(source, root)
        if to is None:
            return _nothing
        return _all([self.receive(part, rank) for rank, part in enumerate(to.chunk(self.size))])

    def scatter(self, to: torch.Tensor, source: torch.Tensor | None, root: int) -> Begun:
        """Begin to give every rank its part of the root's ``source``."""
        for rank, part in enumerate(source.chunk(self.size) if source is not None else ()):
            self.send(part, rank)
        return self.receive(to, root)


def new_address() -> str:
    """Open a store in this process, and return its address."""
    from torch._C._distributed_c10d import TCPStore

    spread = os.environ.get("LOCAL_WORLD_SIZE") not in (None, os.environ.get("WORLD_SIZE"))
    host = socket.gethostname() if spread else "localhost"
    store = TCPStore(host, 0, None, is_master=True, wait_for_workers=False)
    _opened[f"{host}:{store.port}"] = store
    return f"{host}:{store.port}"


def store_at(address: str) -> Any:
    """Return the store at an address that ``new_address`` gave in some process."""
    from torch._C._distributed_c10d import TCPStore

    host, _, port = address.rpartition(":")
    return TCPStore(host, int(port), None, is_master=False)  # of each rank: one call waits at a time


def view(address: int | None, count: int, dtype: torch.dtype) -> torch.Tensor:
    """Return the memory at an address as a tensor of the host's."""
    if not count:
        return torch.empty(0, dtype=dtype)
    usable = started().native.usable_address(address or 0)
    block = (ctypes.c_char * (count * dtype.itemsize)).from_address(usable)
    return torch.frombuffer(block, dtype=dtype)


_opened: dict[str, Any] = {}


def _with(options: Any, reduction: Reduction) -> Any:
    options.reduceOp = reduction.operation
    return options


def _ending(work: Any, finish: Callable[[], object] | None = None) -> Begun:
    def end() -> None:
        work.wait()
        if finish is not None:
            finish()

    return end


def _all(begun: Sequence[Begun]) -> Begun:
    def end() -> None:
        for each in begun:
            each()

    return end


def _copy(to: torch.Tensor, source: torch.Tensor) -> None:
    to.copy_(source)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(torch.uint8)


def _nothing() -> None:
    """There is nothing to wait for."""
