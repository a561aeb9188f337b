"""The handles of communicators and reductions in C, and the calls that a thread gathers in a group."""

from __future__ import annotations

from collections.abc import Callable

import torch

from morph.kernels.libraries.nccl.communicators import Begun, Communicator
from morph.kernels.libraries.nccl.reductions import DTYPES, FLOAT8, SUM, Reduction
from morph.software import capture
from morph.software.machine import started

BUILT_IN = 5  # the number of reductions that NCCL has of its own


class InvalidArgument(ValueError):
    """What NCCL answers with ncclInvalidArgument."""


class Calls:
    """The calls of a thread that its group has gathered, and its last error."""

    def __init__(self) -> None:
        self.depth, self.error = 0, ""
        self.joins: list[Callable[[], None]] = []
        self.begins: list[Callable[[], Begun]] = []

    def join(self, join: Callable[[], None]) -> None:
        """Have a communicator meet its other ranks, at the end of the group if there is one."""
        self.joins.append(join)
        if not self.depth:
            self.flush()

    def begin(self, begin: Callable[[], Begun]) -> None:
        """Begin a collective, and wait for it, at the end of the group; a graph in its capture holds it."""
        self.begins.append(begin)
        if not self.depth:
            self.flush()

    def flush(self) -> None:
        """Do what the group has gathered."""
        joins, begins = self.joins, self.begins
        self.joins, self.begins = [], []
        _together(joins)
        graph = capture.current()
        if graph is None or not begins:
            _all_of(begins)
        else:
            graph.add(lambda: _all_of(begins))


class Handles:
    """The communicators and reductions of this process, by what stands for them in C."""

    def __init__(self) -> None:
        self._communicators: dict[int, Communicator] = {}
        self._factors: dict[int, float] = {}
        self._next = 0x1000

    def add(self, communicator: Communicator) -> int:
        """Return a new handle."""
        self._next += 16
        self._communicators[self._next] = communicator
        return self._next

    def communicator(self, handle: int | None) -> Communicator:
        """Return the communicator of a handle."""
        if handle not in self._communicators:
            raise InvalidArgument("no such communicator")
        return self._communicators[handle]

    def typed(self, handle: int | None, number: int) -> tuple[Communicator, torch.dtype]:
        """Return the communicator of a handle, and the data type that has a number in NCCL."""
        if number not in DTYPES:
            raise InvalidArgument(f"no data type has the number {number}")
        return self.communicator(handle), DTYPES[number]

    def drop(self, handle: int | None) -> Communicator:
        """Forget a communicator."""
        found = self.communicator(handle)
        del self._communicators[handle or 0]
        return found

    def add_factor(self, factor: float) -> int:
        """Return the number of a reduction that multiplies first."""
        number = max([BUILT_IN - 1, *self._factors]) + 1
        self._factors[number] = factor
        return number

    def drop_factor(self, number: int) -> None:
        """Forget a reduction."""
        if self._factors.pop(number, None) is None:
            raise InvalidArgument("no such reduction")

    def reduction(self, number: int, dtype: torch.dtype) -> Reduction:
        """Return a reduction of a data type.

        Raises:
            InvalidArgument: If there is no such reduction, or the card that the devices stand for lacks it.
        """
        if dtype in FLOAT8 and not started().reduces_float8:
            raise InvalidArgument("FP8 reduction support begins with sm90 capable devices.")  # NCCL's words
        if number in self._factors:
            return Reduction(SUM, dtype, self._factors[number])
        if not 0 <= number < BUILT_IN:
            raise InvalidArgument(f"no reduction has the number {number}")
        return Reduction(number, dtype)


def peer_of(communicator: Communicator, rank: int) -> int:
    """Return a rank of a communicator.

    Raises:
        InvalidArgument: If it has no such rank.
    """
    if not 0 <= rank < communicator.size:
        raise InvalidArgument(f"rank {rank} of {communicator.size}")
    return rank


def _all_of(begins: list[Callable[[], Begun]]) -> None:
    """Begin collectives, and wait for all of them."""
    for wait in [begin() for begin in begins]:
        wait()


def _together(joins: list[Callable[[], None]]) -> None:
    """Join communicators; those of one process wait for each other."""
    if len(joins) == 1:
        joins[0]()
    elif joins:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(len(joins)) as pool:
            for done in [pool.submit(join) for join in joins]:
                done.result()
