"""The readings that torch itself reports, on any backend that serves ``torch.cuda``."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from morph.aliases.sensors.origin import Source
from morph.aliases.sensors.reading import AbsentLibraryError, Device, Memory, UnknownReadingError
from morph.base.errors import MissingNameError

Value = TypeVar("Value")


def known(ask: Callable[[], Value]) -> Value:
    """Return the result of ``ask``, or raise an error if the backend lacks the function.

    Raises:
        UnknownReadingError: With the reason from the backend's table.
    """
    try:
        return ask()
    except MissingNameError as missing:
        raise UnknownReadingError(str(missing)) from missing


class TorchDevice(Device):
    """A device as ``torch.cuda`` reports it, used where the vendor's library or tool is absent.

    Reading its memory makes the vendor's runtime open the device, as ``torch.cuda.mem_get_info`` does.

    Args:
        index: torch's index.
        why_unknown: Why other readings are unavailable.
    """

    error: type[UnknownReadingError] = AbsentLibraryError

    def __init__(self, index: int, why_unknown: str = "") -> None:
        self.index = index
        self.why_unknown = why_unknown or Device.why_unknown

    def name(self) -> str:
        """Return the name that torch reports."""
        return str(torch.cuda.get_device_name(self.index))

    def uuid(self) -> str:
        """Return the UUID that torch reports."""
        return str(uuid.UUID(str(known(lambda: self.properties.uuid))))

    def cores(self) -> int:
        """Return the number of multiprocessors that torch reports."""
        return int(known(lambda: self.properties.multi_processor_count))

    def memory(self) -> Memory:
        """Return the memory that torch reports, used by all processes."""
        free, total = known(lambda: torch.cuda.mem_get_info(self.index))
        return Memory(total, total - free)

    @property
    def properties(self) -> Any:
        """The device's properties."""
        return torch.cuda.get_device_properties(self.index)


class TorchSource(Source):
    """torch as the source of readings, used where there is no library or tool.

    Args:
        title: The vendor's package, or torch.
        why_unknown: Why other readings are unavailable, and what to install.
        kind: The class of the devices.
    """

    def __init__(self, title: str, why_unknown: str, kind: type[TorchDevice] = TorchDevice) -> None:
        self.title = title
        self.why_unknown = why_unknown
        self._kind = kind

    def devices(self) -> Sequence[Device]:
        """Return the devices that torch sees."""
        return [self._kind(index, self.why_unknown) for index in range(torch.cuda.device_count())]
