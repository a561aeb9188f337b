"""Intel's Level Zero Sysman, through the package pyzes, whose C functions and fields are accessed by name."""

from __future__ import annotations

import ctypes
import importlib
import time
from collections.abc import Iterator
from typing import Any

from morph.aliases.sensors.reading import UnknownReadingError

SAMPLE = 0.1
"""Seconds between two reads of a counter on its first use."""


class Sysman:
    """Sysman, opened.

    Args:
        library: The module pyzes.

    Raises:
        UnknownReadingError: If it cannot be opened.
    """

    def __init__(self, library: Any) -> None:
        self.library = library
        self._counters: dict[tuple[Any, ...], tuple[int, int]] = {}
        self._check("zesInit", library.zesInit(0))

    @classmethod
    def load(cls) -> Sysman:
        """Import pyzes and open it.

        Raises:
            ImportError: If it is not installed.
            OSError: If Level Zero's loader is missing.
            UnknownReadingError: If it cannot be opened.
        """
        return cls(importlib.import_module("pyzes"))

    def cards(self) -> list[Any]:
        """Return the handles of the GPUs of the first driver, which torch.xpu also queries."""
        drivers = self.listed("zesDriverGet", "zes_driver_handle_t")
        return self.listed("zesDeviceGet", "zes_device_handle_t", drivers[0]) if drivers else []

    def listed(self, function: str, kind: str, *owner: Any) -> list[Any]:
        """Return the handles or structures from a function that first returns their number.

        Args:
            function: ``"zesDeviceProcessesGetState"``.
            kind: The result type's name in pyzes.
            owner: The handle of its owner, if it has one.

        Raises:
            UnknownReadingError: If the function fails.
        """
        ask, count = getattr(self.library, function), ctypes.c_uint32(0)
        self._check(function, ask(*owner, ctypes.byref(count), None))
        found = (getattr(self.library, kind) * count.value)()
        for each in found:
            self._mark(each, kind)
        if count.value:
            self._check(function, ask(*owner, ctypes.byref(count), found))
        return list(found[: count.value])

    def read(self, function: str, kind: str, handle: Any) -> Any:
        """Return the structure, or the number, that a function fills in.

        Args:
            function: ``"zesDevicePciGetState"``.
            kind: The result type's name in pyzes.
            handle: The handle of its owner.

        Raises:
            UnknownReadingError: If the function fails.
        """
        filled = getattr(self.library, kind)()
        self._mark(filled, kind)
        self._check(function, getattr(self.library, function)(handle, ctypes.byref(filled)))
        return filled

    def parts(self, card: Any, part: str, kind: str, properties: str) -> Iterator[tuple[Any, Any]]:
        """Yield the handle and properties of each ``part`` of a card, such as ``"MemoryModules"``."""
        name = properties.removeprefix("zes").removesuffix("GetProperties")
        short = {"Memory": "mem", "Frequency": "freq", "Temperature": "temp"}.get(name, name.lower())
        for handle in self.listed(f"zesDeviceEnum{part}", kind, card):
            yield handle, self.read(properties, f"zes_{short}_properties_t", handle)

    def rate(self, function: str, kind: str, handle: Any, *fields: str) -> tuple[float, Any]:
        """Return a counter's growth per microsecond since it was last read, and its value.

        Args:
            function: The function for the counter and its timestamp in microseconds.
            kind: The structure's name in pyzes.
            handle: The handle of its owner.
            fields: The structure's fields to add up.
        """
        key = function, handle.value, *fields
        if key not in self._counters:
            self._counters[key] = self._counted(self.read(function, kind, handle), fields)
            time.sleep(SAMPLE)
        now = self.read(function, kind, handle)
        (before, began), (after, ended) = self._counters[key], self._counted(now, fields)
        if ended == began:
            raise UnknownReadingError(f"{function}: the counter has not changed since it was last read")
        self._counters[key] = after, ended
        return (after - before) / (ended - began), now

    @staticmethod
    def _counted(state: Any, fields: tuple[str, ...]) -> tuple[int, int]:
        return sum(getattr(state, field) for field in fields), state.timestamp

    def _mark(self, structure: Any, kind: str) -> None:
        """Write a structure's type into it, as Level Zero requires."""
        if hasattr(structure, "stype"):
            title = kind.removeprefix("zes_").removesuffix("_t").upper()
            structure.stype = getattr(self.library, f"ZES_STRUCTURE_TYPE_{title}")

    def _check(self, function: str, code: int) -> None:
        if code != self.library.ZE_RESULT_SUCCESS:
            raise UnknownReadingError(f"{function}: Level Zero returns 0x{code & 0xFFFFFFFF:x}")
