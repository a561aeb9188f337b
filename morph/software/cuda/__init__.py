"""torch's own ``torch.cuda``, executed once more over a software ``torch._C``, as CUDA or as HIP."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch
from torch.multiprocessing import reductions
from torch.profiler import ProfilerActivity

from morph.base.journal import Journal
from morph.device import parallel
from morph.software import compilation
from morph.software.cuda import (
    collectives,
    exclusion,
    legacy,
    libraries,
    refusals,
    seeds,
    sensors,
    storages,
    torch_c,
    torchscript,
)
from morph.software.machine import Machine
from morph.software.reexecution import Reexecuted
from morph.software.settings import TOOLKIT
from morph.software.vendors.quirks import Quirks

# the toolkit that torch 2.13's own distributions for CUDA require (their metadata: cuda-toolkit==13.0.3)
CUDA = {"cuda": TOOLKIT}
HIP = {"hip": "6.4.43482", "rocm": "6.4.1", "cuda": None}

_reexecuted = Reexecuted("torch.cuda")


def place_cuda(machine: Machine, journal: Journal) -> None:
    """Make torch appear to be built for CUDA, with cuDNN; a build for CUDA no longer asks a driver.

    Args:
        machine: The software devices.
        journal: Records every rebinding.
    """
    if vars(torch._C).get("_cuda_init") is torch_c.initialise:
        return
    _place_members(libraries.names(machine), journal)
    libraries.place(journal)
    _place(machine, journal, CUDA)


def place_hip(machine: Machine, journal: Journal) -> None:
    """Make torch appear to be built for HIP; where it does already, nothing changes.

    Args:
        machine: The software devices.
        journal: Records every rebinding.
    """
    if torch.version.hip is None:
        _place(machine, journal, HIP)


def _place(machine: Machine, journal: Journal, versions: Mapping[str, str | None]) -> None:
    machine.native.engage()
    journal.on_undo(machine.native.disengage)
    _offer_profiling(machine, journal)
    _place_members({**refusals.names(), **torch_c.names(machine)}, journal)
    for name, version in versions.items():
        if version is None or getattr(torch.version, name, None) is None:  # a build for CUDA keeps its own
            journal.set_attribute(torch.version, name, version)
    exclusion.place(journal)
    storages.place(journal)
    parallel.place(journal)
    with _without("amdsmi"):  # torch.cuda would query the driver with them
        _reexecuted.place(journal, _complete)
    legacy.place(machine.native, journal)
    _know_storage_classes(journal)
    # torch registered the class that torch.cuda has in a build for CPUs, by a function that 2.15 has renamed
    reducers = vars(reductions)["reduction"].ForkingPickler._extra_reducers
    reduce_event = vars(reductions).get("_reduce_event") or reductions.reduce_event
    journal.set_item(reducers, torch.cuda.Event, reduce_event)
    collectives.register(journal)
    torchscript.place(journal)
    compilation.place(journal)


def _offer_profiling(machine: Machine, journal: Journal) -> None:
    """Make profilers measure the device too where a program does not choose the activities."""
    supported: Callable[[], set[ProfilerActivity]] = vars(torch.autograd)["_supported_activities"]

    def _supported_activities() -> set[ProfilerActivity]:
        return {*supported(), ProfilerActivity.CUDA}

    journal.set_attribute(torch.autograd, "_supported_activities", _supported_activities)
    if machine.native.records_activities():
        journal.set_attribute(torch.autograd.profiler, "_supported_activities", _supported_activities)
        return
    # measured by the device's own events: a build for CUDA would ask NVIDIA's CUPTI
    journal.set_attribute(
        torch.autograd.profiler, "_supported_activities", lambda: supported() - {ProfilerActivity.CUDA}
    )
    # this way of measuring wants the host's activity, in which the device's operators run
    initialise = torch.autograd.profiler.profile.__init__

    @functools.wraps(initialise)
    def __init__(self: Any, *arguments: Any, **options: Any) -> None:
        if options.get("use_device") == "cuda":
            options["use_cpu"] = True
        initialise(self, *arguments, **options)

    journal.set_attribute(torch.autograd.profiler.profile, "__init__", __init__)


def _place_members(members: Mapping[str, object], journal: Journal) -> None:
    """Put members into ``torch._C``; undone while no other thread is in a call of torch.cuda."""
    placed = Journal()
    for name, value in members.items():
        placed.set_attribute(torch._C, name, value)
    journal.on_undo(lambda: _reexecuted.between_calls(placed.undo))


def _know_storage_classes(journal: Journal) -> None:
    """Add torch.cuda's classes of storages to those that torch.is_storage() knows."""
    legacy_class = torch.storage._LegacyStorage
    # by type(), which does not import what torch.cuda has lazily
    classes = [each for each in vars(torch.cuda).values() if issubclass(type(each), type)]
    storages = {each for each in classes if issubclass(each, legacy_class)} - {legacy_class}
    torch._storage_classes.update(storages)
    journal.on_undo(lambda: torch._storage_classes.difference_update(storages))


@contextmanager
def _without(name: str) -> Iterator[None]:
    modules = {name: sys.modules[name]} if name in sys.modules else {}
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]
        sys.modules.update(modules)


def _complete(module: ModuleType) -> None:
    seeds.place(module)
    if torch.version.hip is None:
        sensors.fill_in(module)


QUIRKS = Quirks(title="CUDA", place=place_cuda, architectures="sm_80")
HIP_QUIRKS = Quirks(title="HIP", place=place_hip, architectures="gfx90a gfx942")
