"""The simulated machine of this process: the native device, and the vendor it stands for."""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import pathlib
import re
import sys
import threading
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from morph.errors import MorphError
from morph.journal import Journal
from morph.software import host, settings

if TYPE_CHECKING:
    from morph.aliases.table import Facts
    from morph.software.vendors.character import Character

GIB = 1 << 30
DEVICES = 2  # of a machine that is rehearsed
LOCAL_PROCESSES = "LOCAL_WORLD_SIZE"  # set by torchrun
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
        memory: Bytes of each device.
        chosen: Whether the program said how many devices there are; else the environment does.
    """

    facts: Facts
    character: Character
    native: Any
    memory: int
    chosen: bool = False

    @property
    def count(self) -> int:
        """How many devices this process sees: what the environment says, until one is used."""
        if not self.chosen and not self.native.is_initialized():
            self.native.set_device_count(visible_devices(self.facts))
        return int(self.native.device_count())

    @property
    def device_type(self) -> str:
        """torch's name of the device type, ``"npu"``."""
        return self.facts.device_type


_lock = threading.Lock()
_machine: Machine | None = None


def start(
    vendor: str, devices: int | None = None, memory: int | None = None, journal: Journal | None = None
) -> ModuleType:
    """Makes a vendor's device and its module exist in this process, for good.

    Starting the same again returns the module that is there.

    Args:
        vendor: The backend's name, ``"npu"``.
        devices: How many devices there are; None takes ``MORPH_DEVICES``, else two in a rehearsal, and on
            the CPU one, or as many as a launcher starts processes here; less what is hidden.
        memory: Bytes of each device; None takes ``MORPH_DEVICE_MEMORY``, else 64 GiB in a rehearsal, and an
            equal share of the host's on the CPU.
        journal: Records what is put in the place of torch's own names; the device itself stays.

    Returns:
        The vendor's module, ``torch.npu``.

    Raises:
        UnknownBackendError: If no table describes the vendor.
        SimulatorError: If another device, or the vendor's real package, is in this process already.
    """
    global _machine
    from morph.aliases import table

    facts = table.load(vendor).facts
    with _lock:
        if _machine is None:
            _refuse_beside_the_real(facts)
            if not facts.software:
                os.environ[AUTOLOAD] = "0"  # in children too: the vendor's real package must stay out
            _machine = _build(facts, devices, memory)
            _install(_machine)
        if _machine.facts.name != facts.name:
            raise SimulatorError(
                f"this process simulates {_machine.facts.name} already; {vendor} needs its own"
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


def visible_devices(facts: Facts) -> int:
    """Counts the devices that the vendor's variable, or CUDA's own, lets this process see."""
    from morph.backends.visibility import CUDA_VARIABLE

    listed, total = os.environ.get(facts.visible_devices or CUDA_VARIABLE), all_devices(facts)
    if listed is None:
        return total
    digits = re.match(r"[\d,]*", listed)
    assert digits is not None
    indices = [int(index) for index in digits[0].split(",") if index]
    return next((place for place, index in enumerate(indices) if index >= total), len(indices))


def all_devices(facts: Facts) -> int:
    """Counts the devices of the machine, hidden ones included."""
    processes = os.environ.get(LOCAL_PROCESSES, "")
    started_together = int(processes) if processes.isdigit() else 1
    return settings.devices(
        min(max(1, started_together), settings.MOST_DEVICES) if facts.software else DEVICES
    )


def _memory(facts: Facts) -> int:
    share = host.total_memory() // all_devices(facts) // settings.ROUND * settings.ROUND
    return settings.memory(share if facts.software else 64 * GIB)


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


def _build(facts: Facts, devices: int | None, memory: int | None) -> Machine:
    count = all_devices(facts) if devices is None else devices
    memory = _memory(facts) if memory is None else memory
    character = _character(facts)
    native = library("device")
    kind = DISPATCH_KEYS[facts.dispatch_key]
    habits = (character.padding, character.title, character.channels_last, character.float64)
    native.install(kind, count, memory, *habits)
    machine = Machine(facts, character, native, memory, chosen=devices is not None)
    native.set_device_count(machine.count)
    return machine


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
    sources = [collective] if name == "collective" else sorted({*folder.glob("*.cpp")} - {collective})
    return native.build(f"software_{name}", sources, progress=report)


@functools.cache
def library(name: str) -> ModuleType:
    """Loads a native library of the software device, built if need be; it does nothing by being loaded."""
    from morph import native

    return native.load(f"software_{name}", build(name))


def _install(machine: Machine) -> None:
    if not machine.character.place:
        _add_to_torch(machine)
    atexit.register(_let_threads_finish)


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


def _let_threads_finish() -> None:
    """Has autograd's device threads drop what the last backward pass held while there is an interpreter.

    One that asks for it while the interpreter ends aborts the process.
    """
    started().native.settle_autograd_threads()
