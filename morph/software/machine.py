"""The simulated machine of this process: the native device, and the vendor it stands for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from morph.base.errors import MorphError
from morph.software.settings import Size
from morph.software.visible import Visible

if TYPE_CHECKING:
    from morph.backends.tables.table import Facts
    from morph.software.cards import Card
    from morph.software.vendors.quirks import Quirks


class SimulatorError(MorphError):
    """The simulated device cannot be started."""


class NotSimulatedError(MorphError, NotImplementedError):
    """A name that the vendor has was used, and the simulated device does not have it."""

    def __init__(self, name: str, reason: str = "") -> None:
        lacks = f"{name} exists on the real device, but the simulated device does not have it"
        super().__init__(f"{lacks}: {reason}" if reason else lacks)


@dataclass(frozen=True, eq=False)
class Machine:
    """The simulated devices of this process.

    Attributes:
        facts: The facts of the vendor's alias table.
        quirks: What the vendor's device and package do otherwise than others.
        native: The extension module that is the device.
        total: How many devices there are, hidden ones included.
        memory: Bytes of each device.
        visible: Which of them this process sees.
        card: The card that they stand for; None for the host's processor or the vendor's usual device.
        start: What started them, which a process that a tensor is sent to calls.
    """

    facts: Facts
    quirks: Quirks
    native: Any
    total: int
    memory: int
    visible: Visible
    card: Card | None
    start: Callable[[str, Size], ModuleType]

    @property
    def count(self) -> int:
        """The number of devices that this process sees."""
        return len(self.visible.indices())

    def reaches(self, device: int, peer: int) -> bool:
        """Return whether a device can access the memory of another."""
        return device != peer and (self.card is None or self.card.peers)

    @property
    def reduces_float8(self) -> bool:
        """Whether NCCL reduces numbers of eight bits: since 2.24, from compute capability 9.0 on."""
        return self.card is None or self.card.capability >= 90

    @property
    def device_type(self) -> str:
        """torch's name of the device type, ``"npu"``."""
        return self.facts.device_type


_machine: Machine | None = None


def is_started() -> bool:
    """Return whether this process has a machine."""
    return _machine is not None


def look_at_environment() -> None:
    """Let the devices be those that the environment shows now, if none was used yet."""
    if _machine is not None:
        _machine.visible.indices()


def set_started(machine: Machine) -> None:
    """Make ``machine`` the one of this process."""
    global _machine
    _machine = machine


def started() -> Machine:
    """Return the simulated machine of this process.

    Raises:
        SimulatorError: If none was started.
    """
    if _machine is None:
        raise SimulatorError("no simulated device was started in this process")
    return _machine


def namespace() -> Any:
    """Return the vendor's module of the simulated machine, ``torch.npu``."""
    from morph.backends import resolve

    return resolve(started().facts.module)


@functools.cache
def library(name: str) -> ModuleType:
    """Load a native library of the software device, built if need be; it does nothing by being loaded.

    Args:
        name: ``"device"``, ``"collective"`` or ``"torchscript"``; while the device is not built whole, the
            boxed one serves.
    """
    from morph.base import native

    wanted = [native.part(name), *([native.part("boxed_device")] if name == "device" else [])]
    return native.load(next((each for each in wanted if native.find(each)), wanted[-1]))
