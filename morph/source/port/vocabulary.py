"""The names added to a ported module, chosen so that they are unused in it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping

from morph.source.port.replacements import DEVICE

PREFERRED = {
    "default_device": ("device", "default_device"),
    "accelerator": ("accelerator", "accelerator_type"),
}
"""The preferred names, by the name in ``stand_ins.py``."""


AVAILABLE = "torch.accelerator.is_available()"


class Vocabulary:
    """Names the stand-ins in one module, and records which of them it uses.

    Args:
        taken: The names that the module uses already.
        modules: The module's names of torch and of torch's modules, by their own names.

    Attributes:
        used: The module's name of each stand-in that it uses, by the name in ``stand_ins.py``.
    """

    def __init__(self, taken: Collection[str], modules: Mapping[str, str]) -> None:
        self._taken = taken
        self._modules = {"torch": "torch", **modules}
        self.used: dict[str, str] = {}

    @property
    def torch(self) -> str:
        """The module's name of torch."""
        return self._modules["torch"]

    @property
    def device(self) -> str:
        """The module's device."""
        return self.name("default_device")

    @property
    def accelerator(self) -> str:
        """The type of the accelerator, for comparisons."""
        return self.name("accelerator")

    def name(self, stand_in: str) -> str:
        """Return the module's name of a stand-in, and record its use."""
        if stand_in not in self.used:
            self.used[stand_in] = next(name for name in _candidates(stand_in) if name not in self._taken)
        return self.used[stand_in]

    def of(self, text: str) -> str:
        """Return a name of torch's, a stand-in, or an attribute of one, in the words of the module."""
        if text.startswith("torch."):
            return self.spelled(text)
        stand_in, *attributes = text.split(".")
        return ".".join([self.name(stand_in), *attributes])

    def spelled(self, text: str) -> str:
        """Return a text of ``replacements.toml`` in the words of the module."""
        if DEVICE in text:
            text = text.replace(DEVICE, self.device)
        owners = (name for name in self._modules if text.startswith(f"{name}."))
        owner = max(owners, key=len, default="")
        return self._modules[owner] + text.removeprefix(owner) if owner else text


def _candidates(stand_in: str) -> Iterator[str]:
    yield from PREFERRED.get(stand_in, (stand_in,))
    yield from (f"{stand_in}_{number}" for number in itertools.count(2))
