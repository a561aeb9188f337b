"""AMD's device: torch's own ``torch.cuda``, executed once more over a simulated HIP."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import torch

from morph.device import parallel
from morph.journal import Journal
from morph.software import legacy
from morph.software.cuda import collectives, runtime, storages
from morph.software.machine import Machine
from morph.software.reexecution import Reexecuted
from morph.software.vendors.character import Character

HIP, ROCM = "6.4.43482", "6.4.1"

_reexecuted = Reexecuted("torch.cuda")


def place(machine: Machine, journal: Journal) -> None:
    """Makes torch believe in HIP; where it does already, nothing changes.

    Args:
        machine: The simulated machine.
        journal: Records every rebinding.
    """
    if torch.version.hip is not None:
        return
    for name, value in {**runtime.refusing(), **runtime.names(machine)}.items():
        journal.set_attribute(torch._C, name, value)
    journal.set_attribute(torch.version, "hip", HIP)
    journal.set_attribute(torch.version, "rocm", ROCM)
    storages.place(journal)
    parallel.fill_in(journal)
    with _without("amdsmi"):  # which torch.cuda would ask the driver with
        _reexecuted.place(journal, _complete)
    journal.set_attribute(torch.nn.parallel.comm, "nccl", torch.cuda.nccl)
    collectives.register(journal)


@contextmanager
def _without(name: str) -> Iterator[None]:
    there = {name: sys.modules[name]} if name in sys.modules else {}
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]
        sys.modules.update(there)


def _complete(module: ModuleType, own: ModuleType) -> None:
    """Adds what torch's C++ adds to torch.cuda."""
    types = legacy.tensor_types(module.__name__)
    vars(module).update({name: type_ for name, type_ in types.items() if hasattr(own, name)})


CHARACTER = Character(title="HIP", place=place)
