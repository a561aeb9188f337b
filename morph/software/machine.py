"""The simulated machine of this process: the native device, and the vendor it stands for."""

from __future__ import annotations

import functools
import importlib
import os
import pathlib
import sys
import threading
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from morph.errors import MorphError
from morph.journal import Journal
from morph.request import Size
from morph.software import settings
from morph.software.visible import Visible

if TYPE_CHECKING:
    from morph.software.vendors.character import Character
    from morph.tables.table import Facts

AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
DISPATCH_KEYS = {"PrivateUse1": "privateuse1", "XPU": "xpu", "CUDA": "cuda"}
# Vendors whose names behave in ways that a surface does not tell.
CHARACTERS = {
    "cpu": "morph.software.cuda:CHARACTER",
    "mlu": "morph.software.vendors.mlu:CHARACTER",
    "musa": "morph.software.vendors.musa:CHARACTER",
    "npu": "morph.software.vendors.npu:CHARACTER",
    "rocm": "morph.software.cuda:HIP_CHARACTER",
    "xpu": "morph.software.xpu:CHARACTER",
}


class SimulatorError(MorphError):
    """The simulated device cannot be started."""


class NotSimulatedError(MorphError, NotImplementedError):
    """A name that the vendor has was used, and the simulated device does not have it."""

    def __init__(self, name: str, reason: str = "") -> None:
        lacks = f"{name} exists on the real device, but the simulated device does not have it"
        super().__init__(f"{lacks}: {reason}" if reason else lacks)


@dataclass(frozen=True)
class Machine:
    """The simulated devices of this process.

    Attributes:
        facts: Of the vendor's alias table.
        character: Of the vendor's device.
        native: The extension module that is the device.
        total: How many devices there are, hidden ones included.
        memory: Bytes of each device.
        visible: Which of them this process sees.
    """

    facts: Facts
    character: Character
    native: Any
    total: int
    memory: int
    visible: Visible

    @property
    def count(self) -> int:
        """How many devices this process sees."""
        return len(self.visible.indices())

    @property
    def device_type(self) -> str:
        """torch's name of the device type, ``"npu"``."""
        return self.facts.device_type


_lock = threading.Lock()
_machine: Machine | None = None


def start(vendor: str, size: Size | None = None, journal: Journal | None = None) -> ModuleType:
    """Makes a vendor's device and its module exist in this process, for good.

    Starting the same again returns the module that is there.

    Args:
        vendor: The backend's name, ``"npu"``.
        size: How many devices there are, before some are hidden, and how large; what it leaves open
            ``settings.settle`` settles.
        journal: Records what is put in the place of torch's own names; the device itself stays.

    Returns:
        The vendor's module, ``torch.npu``.

    Raises:
        UnknownBackendError: If no table describes the vendor.
        SettingsError: If an environment variable cannot be meant.
        SimulatorError: If another device, or the vendor's real package, is in this process already.
    """
    global _machine
    size = size or Size()
    from morph.tables import table

    facts = table.load(vendor).facts
    with _lock:
        if _machine is None:
            _refuse_beside_the_real(facts)
            if not facts.software:
                os.environ[AUTOLOAD] = "0"  # in children too: the vendor's real package must stay out
            _machine = _build(facts, settings.settle(facts, size))
            _install(_machine)
        if _machine.facts.name != facts.name:
            raise SimulatorError(
                f"this process simulates {_machine.facts.name} already; {vendor} needs its own"
            )
        if _differs(size, _machine):
            raise SimulatorError(
                f"this process has {_machine.total} devices of {_machine.memory} bytes already, for good"
            )
        if _machine.character.place:
            _machine.character.place(_machine, journal or Journal())
    module: ModuleType = namespace()
    return module


def started() -> Machine:
    """Gives the simulated machine of this process.

    Raises:
        SimulatorError: If none was started.
    """
    if _machine is None:
        raise SimulatorError("no simulated device was started in this process")
    return _machine


def namespace() -> Any:
    """Gives the vendor's module of the simulated machine, ``torch.npu``."""
    from morph.backends import resolve

    return resolve(started().facts.module)


def _differs(size: Size, machine: Machine) -> bool:
    return size.devices not in (None, machine.total) or size.memory not in (None, machine.memory)


def _refuse_beside_the_real(facts: Facts) -> None:
    if facts.software:
        return
    if facts.dispatch_key not in DISPATCH_KEYS or not facts.surface:
        raise SimulatorError(
            f"{facts.name} cannot be simulated: no recorded surface or no device key of its own"
        )
    if facts.vendor in sys.modules:
        raise SimulatorError(
            f"{facts.vendor} is imported already; its device cannot be simulated in this process"
        )


def _build(facts: Facts, size: Size) -> Machine:
    assert size.devices is not None
    assert size.memory is not None
    character = _character(facts)
    native = library("device")
    kind = DISPATCH_KEYS[facts.dispatch_key]
    habits = (character.padding, character.title, character.channels_last, character.float64)
    native.install(kind, size.devices, size.memory, *habits)
    visible = Visible(facts, size.devices, native)
    return Machine(facts, character, native, size.devices, size.memory, visible)


def _character(facts: Facts) -> Character:
    from morph.software.vendors.character import Character

    if facts.name in CHARACTERS:
        module, _, name = CHARACTERS[facts.name].partition(":")
        character = getattr(importlib.import_module(module), name)
        assert isinstance(character, Character)
        return character
    return Character(facts.device_type.upper())


def build(name: str) -> pathlib.Path:
    """Builds a native library of the software device unless it is cached; nothing is loaded.

    Args:
        name: ``"device"``, or ``"collective"``, which takes long and few programs need.

    Returns:
        The path of the library.
    """
    from morph import native
    from morph.announcement import report

    folder = pathlib.Path(__file__).parent / "native"
    collective = folder / "collective.cpp"
    parts = {"collective": [collective, folder / "host_view.cpp"]}
    sources = parts.get(name) or sorted({*folder.glob("*.cpp")} - {collective})
    return native.build(f"software_{name}", sources, progress=report)


@functools.cache
def library(name: str) -> ModuleType:
    """Loads a native library of the software device, built if need be; it does nothing by being loaded."""
    from morph import native

    return native.load(f"software_{name}", build(name))


def _install(machine: Machine) -> None:
    if not machine.character.place:
        _add_to_torch(machine)


def _add_to_torch(machine: Machine) -> None:
    from torch.utils import backend_registration

    from morph.software import distributed, legacy, sharing
    from morph.software.vendors import compilation, vendor

    backend_registration.rename_privateuse1_backend(machine.device_type)
    modules = vendor.build(machine)
    vendor.register(modules, machine)
    backend_registration.generate_methods_for_privateuse1_backend(unsupported_dtype=legacy.QUANTIZED)
    compilation.register(namespace(), machine)
    distributed.register(machine)
    sharing.register(machine)
    machine.character.patch(modules)
