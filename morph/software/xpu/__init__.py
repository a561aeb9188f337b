"""Intel's device: torch's own ``torch.xpu``, executed once more over a simulated runtime."""

from __future__ import annotations

from morph.base.journal import Journal
from morph.software.machine import Machine
from morph.software.reexecution import Reexecuted
from morph.software.vendors.quirks import Quirks
from morph.software.xpu import collectives, precision, sensors, torch_c

TOOLKIT = "20250302"  # of the SYCL compiler that torch 2.13 is built with for Intel GPUs

_reexecuted = Reexecuted("torch.xpu")


def place(machine: Machine, journal: Journal) -> None:
    """Put the simulated torch.xpu in the place of torch's own; where it is already, it stays.

    Args:
        machine: The simulated machine.
        journal: Records every rebinding.
    """
    import torch

    if torch._C._has_xpu:
        return
    for name, value in torch_c.names(machine).items():
        journal.set_attribute(torch._C, name, value)
    journal.set_attribute(torch.version, "xpu", TOOLKIT)
    journal.set_attribute(torch.cuda, "_is_compiled", lambda: False)  # torch refuses to be built for both
    _reexecuted.place(journal, sensors.attach)
    precision.attach(journal)
    collectives.register(journal)


QUIRKS = Quirks(title="XPU", place=place)
