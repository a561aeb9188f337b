"""The evidence that a name works: the results of the tests, in rungs of a ladder."""

from __future__ import annotations

import enum
import functools
import importlib.resources
import json
from collections.abc import Mapping
from dataclasses import dataclass


class Rung(enum.Enum):
    """The rungs of the ladder of evidence, the highest first."""

    HARDWARE = "hardware"
    VENDOR_WHEEL = "vendor wheel"
    SIMULATED = "simulated"
    RECORDED = "recorded"


class Seen(enum.Enum):
    """What the tests saw of a name."""

    USED = "used"
    REFUSED = "refused"
    EXISTING = "existing"


SIMULATED = "simulated-"
CPU = "cpu"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence from the tests.

    Attributes:
        torch: The release of torch that the tests ran with.
        platforms: What was seen of a name on each test platform, by name.
    """

    torch: str
    platforms: Mapping[str, Mapping[str, Seen]]

    def rung(self, name: str, backend: str) -> Rung:
        """Return the highest rung on which ``name`` was seen on ``backend``; the lowest is "recorded"."""
        on = self.platforms.get(name, {})
        if backend in on:
            return Rung.HARDWARE if backend == CPU else Rung.VENDOR_WHEEL
        return Rung.SIMULATED if SIMULATED + backend in on else Rung.RECORDED

    def seen(self, name: str, backend: str) -> Seen | None:
        """Return what was seen of ``name`` on the highest rung on ``backend``; None if it was not tried."""
        on = self.platforms.get(name, {})
        return on.get(backend, on.get(SIMULATED + backend))


def parse(text: str) -> Evidence:
    """Read evidence from the text of its file."""
    data = json.loads(text)
    platforms: dict[str, dict[str, Seen]] = {}
    for what in Seen:
        for on, modules in data[what.value].items():
            for owner, names in modules.items():
                for last in names.split():
                    name = f"{owner}.{last}".lstrip(".")
                    platforms.setdefault(name, {}).update(dict.fromkeys(on.split(), what))
    return Evidence(data["torch"], platforms)


@functools.cache
def shipped() -> Evidence:
    """Return the evidence shipped with morph, which a run of its tests wrote."""
    return parse((importlib.resources.files("morph.aliases") / "evidence.json").read_text(encoding="utf-8"))
