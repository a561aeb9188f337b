"""Starts the machine of this process: builds the native device, and adds the vendor's names to torch."""

from __future__ import annotations

import atexit
import importlib
import os
import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING

from morph.backends.tables import surfaces, table
from morph.base import variables
from morph.base.journal import Journal
from morph.software import cards, faults, settings
from morph.software.machine import (
    Machine,
    SimulatorError,
    is_started,
    library,
    namespace,
    set_started,
    started,
)
from morph.software.settings import Size
from morph.software.visible import Visible

if TYPE_CHECKING:
    from morph.backends.tables.table import Facts
    from morph.software.vendors.quirks import Quirks

AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
DISPATCH_KEYS = {"PrivateUse1": "privateuse1", "XPU": "xpu", "CUDA": "cuda"}

_lock = threading.Lock()


def start(vendor: str, size: Size | None = None, journal: Journal | None = None) -> ModuleType:
    """Make a vendor's device and its module exist in this process, for good.

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
    size = size or Size()
    facts = table.facts(vendor)
    with _lock:
        if not is_started():
            _refuse_beside_the_real(facts)
            if not facts.software:
                os.environ[AUTOLOAD] = "0"  # in children too: the vendor's real package must stay out
            set_started(_build(facts, settings.settle(facts, size)))
            _install(started())
        machine = started()
        if machine.facts.name != facts.name:
            raise SimulatorError(
                f"this process simulates {machine.facts.name} already; {vendor} needs another process"
            )
        if _differs(size, machine):
            raise SimulatorError(
                f"this process keeps its {machine.total} devices of {machine.memory} bytes until it ends"
            )
        journal = journal or Journal()
        _run_backward_in_its_caller(journal)
        if machine.quirks.place:
            machine.quirks.place(machine, journal)
    module: ModuleType = namespace()
    return module


def _run_backward_in_its_caller(journal: Journal) -> None:
    """Keep this thread's backward passes off autograd's threads for devices.

    Such a thread would have an OpenMP team of its own beside the caller's, and both wait by spinning: on two
    cores a step of a transformer's layer took 1.7 times as long as on the CPU. And if it meets the end of the
    interpreter, it aborts the process: one in forty that ended right after a backward pass. torch may come to
    do so itself where a graph is on one device (pytorch/pytorch#192004).
    """
    import torch

    before = torch._C._is_multithreading_enabled()
    torch._C._set_multithreading_enabled(False)
    journal.on_undo(lambda: torch._C._set_multithreading_enabled(before))


def _differs(size: Size, machine: Machine) -> bool:
    here = machine.total, machine.memory, machine.card and machine.card.name
    return any(asked not in (None, found) for asked, found in zip(size, here, strict=True))


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
    quirks = _quirks(facts)
    native = library("device")
    kind = DISPATCH_KEYS[facts.dispatch_key]
    zone = settings.PADDING if facts.software and settings.MEMORY in settings.sanitizers() else 0
    of_vendor = (quirks.padding + zone, quirks.title, quirks.channels_last, quirks.float64)
    card = cards.load(size.profile, variables.DEVICE_PROFILE) if size.profile else None
    native.install(kind, size.devices, size.memory, *of_vendor, card.capability if card else 0)
    visible = Visible(facts, size.devices, native)
    return Machine(facts, quirks, native, size.devices, size.memory, visible, card, start)


def _quirks(facts: Facts) -> Quirks:
    from morph.software.vendors.quirks import OF_VENDORS, Quirks  # and torch

    if facts.name in OF_VENDORS:
        module, _, name = OF_VENDORS[facts.name].partition(":")
        quirks = getattr(importlib.import_module(module), name)
        assert isinstance(quirks, Quirks)
        return quirks
    return Quirks(facts.device_type.upper())


def _install(machine: Machine) -> None:
    if machine.facts.software:
        _sanitize({*settings.sanitizers()})
        if faulty := faults.wanted():
            from morph.software import injecting

            injecting.arm(faulty)
    if settings.is_fitted():
        from morph.software import fit

        fit.watch()
    if not machine.quirks.place:
        _add_to_torch(machine)


def _sanitize(wanted: set[str]) -> None:
    if not wanted:
        return
    from morph.software import leaks, sanitizing  # and torch

    if file := variables.read(variables.SANITIZE_JSON):
        started().native.write_reports_to(file if file == "-" else os.path.abspath(file))
    if wanted & {settings.MEMORY, settings.INIT, settings.HOST, settings.LEAK}:
        sanitizing.remember_allocations()
    if settings.MEMORY in wanted:
        sanitizing.keep_freed_memory(settings.KEPT)
    if settings.INIT in wanted:
        sanitizing.mark_unwritten_memory()
    if settings.HOST in wanted:
        sanitizing.hide_memory()
    if settings.SYNC in wanted:
        sanitizing.watch_order()
    if settings.LEAK in wanted:
        atexit.register(leaks.report)


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
    if machine.facts.process_group:
        _place_group(machine.facts)
    sharing.register(machine)
    machine.quirks.patch(modules)


def _place_group(facts: Facts) -> None:
    from morph.software import distributed
    from morph.software.vendors import vendor

    group = distributed.group_class(facts.process_group)
    vendor.place(facts.process_group, group, surfaces.load_nearest(facts.surface))
