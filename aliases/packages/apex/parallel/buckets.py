"""The order in which gradients become ready, and the buckets in which they are reduced."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor

Launch = Callable[[int, list[Tensor]], None]


class Arrivals:
    """The order in which gradients become ready in a backward pass, cut into buckets of one dtype.

    Args:
        params: The parameters; buckets refer to them by their index.
        message_size: The number of elements that closes a bucket.
        triggers: The identities of the parameters that close a bucket instead, if there are any.
    """

    def __init__(self, params: Sequence[Tensor], message_size: int, triggers: set[int] | None) -> None:
        self._places = {id(param): place for place, param in enumerate(params)}
        self._message_size = message_size
        self._triggers = triggers
        self._open: dict[torch.dtype, list[int]] = {}
        self._sizes: dict[torch.dtype, int] = {}
        self._closed: list[list[int]] = []

    def add(self, param: Tensor) -> None:
        """Add the parameter whose gradient is ready now."""
        dtype = param.dtype
        self._open.setdefault(dtype, []).append(self._places[id(param)])
        self._sizes[dtype] = self._sizes.get(dtype, 0) + param.numel()
        full = self._sizes[dtype] >= self._message_size
        if full if self._triggers is None else id(param) in self._triggers:
            self._closed.append(self._open.pop(dtype))
            self._sizes[dtype] = 0

    def agreed(self) -> list[list[int]]:
        """Return the buckets of the first process, each a list of indices."""
        buckets = [*self._closed, *self._open.values()]
        numbers = [len(buckets), *map(len, buckets), *itertools.chain.from_iterable(buckets)]
        told = torch.tensor(numbers, dtype=torch.int, device="cuda")
        dist.broadcast(told, 0)
        count, *rest = told.tolist()
        sizes, places = rest[:count], iter(rest[count:])
        return [list(itertools.islice(places, size)) for size in sizes]


class Buckets:
    """The buckets of one backward pass, reduced as they fill, in the same order in all processes.

    Args:
        layout: The indices of the parameters of each bucket.
        params: The parameters.
        launch: Reduces a bucket: called with its number and the gradients in it.
    """

    def __init__(self, layout: list[list[int]], params: Sequence[Tensor], launch: Launch) -> None:
        self._slots: list[list[Tensor | None]] = [[None] * len(places) for places in layout]
        self._slot_of = {
            id(params[place]): (number, slot)
            for number, places in enumerate(layout)
            for slot, place in enumerate(places)
        }
        self._launch = launch
        self._next = 0

    def put(self, param: Tensor, grad: Tensor) -> None:
        """Add a gradient that is ready.

        Raises:
            RuntimeError: If the parameter's gradient was ready before.
        """
        number, slot = self._slot_of[id(param)]
        if self._slots[number][slot] is not None:
            raise RuntimeError(
                "The backward pass is attempting to replace an already-filled bucket slot.  "
                "This is almost certainly an error."
            )
        self._slots[number][slot] = grad
        while self._next < len(self._slots) and None not in self._slots[self._next]:
            ready = [each for each in self._slots[self._next] if each is not None]
            self._launch(self._next, ready)
            self._next += 1

    def check_all_reduced(self) -> None:
        """Check that every bucket was full.

        Raises:
            RuntimeError: If one was not full.
        """
        if self._next != len(self._slots):
            raise RuntimeError(
                f"In epilogue, next_bucket ({self._next}) != num_buckets ({len(self._slots)}).  "
                "This probably indicates some buckets were not allreduced."
            )
