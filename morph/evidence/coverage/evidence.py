"""The evidence that a name works: the results of the tests, in rungs of a ladder."""

from __future__ import annotations

import enum
import functools
import importlib.resources
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


class Rung(enum.Enum):
    """The rungs of the ladder of evidence, the highest first."""

    HARDWARE = "hardware"
    VENDOR_WHEEL = "vendor wheel"
    SIMULATED = "simulated"
    RECORDED = "recorded"


SIMULATED = "simulated-"
CPU = "cpu"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence from the tests.

    Attributes:
        torch: The release of torch that the tests ran with.
        platforms: The name, mapped to the test platforms on which its use, or its refusal, was seen.
    """

    torch: str
    platforms: Mapping[str, frozenset[str]]

    def rung(self, name: str, backend: str) -> Rung:
        """Return the highest rung on which ``name`` was seen on ``backend``; the lowest is "recorded"."""
        seen = self.platforms.get(name, frozenset())
        if backend in seen:
            return Rung.HARDWARE if backend == CPU else Rung.VENDOR_WHEEL
        return Rung.SIMULATED if SIMULATED + backend in seen else Rung.RECORDED

    def of(self, platform: str) -> set[str]:
        """Return the names that were seen on ``platform``."""
        return {name for name, platforms in self.platforms.items() if platform in platforms}

    def replaced(self, platform: str, names: Iterable[str]) -> Evidence:
        """Return the evidence with one platform's names replaced by ``names``."""
        seen = set(names)
        every = {*self.platforms, *seen}
        platforms = {
            name: self._of(name) - {platform} | ({platform} if name in seen else set()) for name in every
        }
        return Evidence(self.torch, {name: frozenset(on) for name, on in platforms.items() if on})

    def _of(self, name: str) -> set[str]:
        return set(self.platforms.get(name, ()))

    def dumps(self) -> str:
        """Return the text of the evidence file: by platforms and by module, with the names in one string."""
        kept: dict[str, dict[str, str]] = {}
        for name, on in sorted(self.platforms.items()):
            owner, _, last = name.rpartition(".")
            modules = kept.setdefault(" ".join(sorted(on)), {})
            modules[owner] = f"{modules.get(owner, '')} {last}".strip()
        return json.dumps({"torch": self.torch, "names": dict(sorted(kept.items()))}, indent=0) + "\n"


def parse(text: str) -> Evidence:
    """Read evidence from the text of its file."""
    data = json.loads(text)
    platforms = {
        f"{owner}.{last}".lstrip("."): frozenset(on.split())
        for on, modules in data["names"].items()
        for owner, names in modules.items()
        for last in names.split()
    }
    return Evidence(data["torch"], platforms)


@functools.cache
def shipped() -> Evidence:
    """Return the evidence shipped with morph, which a run of its tests wrote."""
    return parse((importlib.resources.files("morph.aliases") / "evidence.json").read_text(encoding="utf-8"))
