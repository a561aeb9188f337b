"""The software devices that a process sees: the vendor's variable, read as CUDA's driver reads its own."""

from __future__ import annotations

import os
import platform
import re
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from morph.backends.tables.table import Facts

UUID_PREFIX = "GPU-"


class Visible:
    """The devices that this process sees, by their place among all.

    As on CUDA, the variable's value at the first use of a device counts for good.

    Args:
        facts: Of the backend's alias table.
        total: How many devices there are.
        native: The extension module that is the device.
    """

    def __init__(self, facts: Facts, total: int, native: Any) -> None:
        self._facts, self._total, self._native = facts, total, native
        self._indices: tuple[int, ...] = tuple(range(total))
        native.set_visible_devices(self._indices)

    def indices(self) -> tuple[int, ...]:
        """Return the places of the visible devices, in the order in which they are numbered here."""
        if not self._native.is_initialized():
            found = indices(self._facts, self._total)
            if found != self._indices:
                self._native.set_visible_devices(found)
            self._indices = found
        return self._indices


def indices(facts: Facts, total: int) -> tuple[int, ...]:
    """Return the places of the devices, of ``total``, that the environment lets a process see now."""
    from morph.backends.visibility import CUDA_VARIABLE

    listed = os.environ.get(facts.visible_devices or CUDA_VARIABLE)
    return parse(listed, total, lambda index: identity(facts.name, index))


def parse(listed: str | None, total: int, identity: Callable[[int], uuid.UUID]) -> tuple[int, ...]:
    """Read a list of devices: what follows the first that does not exist is not seen, and of doubles none is.

    >>> parse("1,0,7,2", 4, lambda index: uuid.UUID(int=index))
    (1, 0)

    Args:
        listed: The variable's value: numbers, or beginnings of ``GPU-`` and a UUID; None shows every device.
        total: How many devices there are.
        identity: Gives a device's UUID.
    """
    if listed is None:
        return tuple(range(total))
    found: list[int] = []
    for word in listed.split(","):
        index = _index(word.strip(), total, identity)
        if index in found:
            return ()
        if index is None:
            break
        found.append(index)
    return tuple(found)


def identity(vendor: str, index: int) -> uuid.UUID:
    """Return the UUID of a software device of this host."""
    return uuid.uuid5(uuid.NAMESPACE_DNS, f"{platform.node()}/{vendor}/{index}")


def _index(word: str, total: int, identity: Callable[[int], uuid.UUID]) -> int | None:
    if word.startswith(UUID_PREFIX):
        fitting = [index for index in range(total) if f"{UUID_PREFIX}{identity(index)}".startswith(word)]
        return fitting[0] if len(fitting) == 1 else None
    number = re.match(r"\+?\d+", word, re.ASCII)
    return int(number[0]) if number and int(number[0]) < total else None
