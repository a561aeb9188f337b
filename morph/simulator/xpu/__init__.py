"""Intel's device: torch's own ``torch.xpu``, executed once more over a simulated runtime.

torch.xpu is Python over what a torch built for Intel GPUs has in ``torch._C``. That part is put in its place,
and torch.xpu is executed on top of it, so that its names, signatures and behaviour are torch's own.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from morph.journal import Journal
from morph.simulator.character import Character
from morph.simulator.machine import Machine
from morph.simulator.xpu import collectives, precision, runtime, sensors

MODULE = "torch.xpu"
TOOLKIT = "20250302"  # of the SYCL compiler that torch 2.13 is built with for Intel GPUs

_executed: dict[str, ModuleType] = {}


def place(machine: Machine, journal: Journal) -> None:
    """Puts the simulated torch.xpu in the place of torch's own; where it is already, it stays.

    Args:
        machine: The simulated machine.
        journal: Records every rebinding.
    """
    import torch

    if torch._C._has_xpu:
        return
    for name, value in runtime.names(machine).items():
        journal.set_attribute(torch._C, name, value)
    journal.set_attribute(torch.version, "xpu", TOOLKIT)
    own = _loaded()
    journal.on_undo(lambda: _put(own))
    _put(_executed)
    if not _executed:
        sensors.attach(importlib.import_module(MODULE))
        _executed.update(_loaded())
    precision.attach(journal)
    collectives.register(journal)


def _loaded() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if f"{name}.".startswith(f"{MODULE}.")}


def _put(modules: dict[str, ModuleType]) -> None:
    for name in _loaded():
        del sys.modules[name]
    sys.modules.update(modules)
    if MODULE in modules:
        sys.modules["torch"].xpu = modules[MODULE]  # type: ignore[attr-defined]


CHARACTER = Character(title="XPU", place=place)
