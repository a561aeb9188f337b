"""The devices that a child process should report: those of the process that started it."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

import morph
from morph.base import hardware, variables

if TYPE_CHECKING:
    from morph.aliases.sensors.origin import Source
    from morph.backends import Backend


class Description(NamedTuple):
    """The devices of a process.

    Attributes:
        backend: The backend's name; empty if nobody has chosen it yet.
        simulated: Whether the devices are simulated.
        devices: The number of software devices, hidden ones included; 0 if there are none, or none yet.
        memory: Bytes of each of these.
        toolkit: The version of CUDA that torch reports.
        profile: The card that they stand for; empty for none.
    """

    backend: str = ""
    simulated: bool = False
    devices: int = 0
    memory: int = 0
    toolkit: str = ""
    profile: str = ""

    @classmethod
    def of(cls, backend: Backend) -> Description:
        """Return the description of this process's devices."""
        if not backend.table.facts.software or backend.simulated:
            return cls(backend.name, backend.simulated)
        import torch

        from morph.software.machine import started

        machine = started()
        profile = machine.card.name if machine.card else ""
        return cls(backend.name, False, machine.total, machine.memory, torch.version.cuda or "", profile)

    @classmethod
    def inherited(cls) -> Description:
        """Return the description that the process left which started this one, or what its options say."""
        text = os.environ.get(variables.MACHINE)
        if text:
            return cls(**json.loads(text))
        rehearsed = os.environ.get(variables.REHEARSE, "")
        return cls(rehearsed or os.environ.get(variables.BACKEND, ""), bool(rehearsed))

    def to_text(self) -> str:
        """Return what :meth:`inherited` reads."""
        return json.dumps(self._asdict())


def opened(description: Description) -> Source:
    """Return the source of readings of the described devices.

    Software devices are read without torch, which takes a second to import.

    Raises:
        MorphError: If the devices cannot be read.
    """
    name = description.backend or _likely()
    if name == "cpu" and not description.simulated:
        return _software(description)
    from morph.aliases import sensors

    morph.activate(name, simulated=description.simulated)
    return sensors.source()


def _software(description: Description) -> Source:
    from morph.backends.tables import table
    from morph.software import cards
    from morph.software.machine import Machine, set_started
    from morph.software.settings import Size, settle

    facts = table.facts("cpu")
    asked = description.devices or None, description.memory or None, description.profile or None
    size = settle(facts, Size(*asked))
    assert size.devices is not None
    assert size.memory is not None
    unused: dict[str, None] = dict.fromkeys(("quirks", "native", "visible", "start"))
    card = cards.load(size.profile, variables.DEVICE_PROFILE) if size.profile else None
    here = Machine(facts=facts, total=size.devices, memory=size.memory, card=card, **unused)  # type: ignore[arg-type]
    set_started(here)
    from morph.aliases.sensors.cpu import Host
    from morph.aliases.sensors.processor import Load

    source = Host()
    source.toolkit = description.toolkit or source.toolkit
    source.counts.loads.update(dict.fromkeys(range(size.devices), Load()))  # which is of the same processor
    return source


def _likely() -> str:
    """Return the backend that morph would choose, as far as the drivers' files tell."""
    from morph.backends.tables import table

    facts = [table.facts(name) for name in table.backend_names()]
    for each in sorted(facts, key=lambda facts: facts.order):
        if hardware.present(each.device_files, each.pci_devices):
            return each.name
    return "cpu"


def capability(index: int) -> str:
    """Return the compute capability of a device, ``"8.0"``."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return ".".join(map(str, torch.cuda.get_device_capability(index)))
    from morph.software import properties

    found = properties.of_number(index)
    return f"{found.major}.{found.minor}"
