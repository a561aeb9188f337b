"""The replacements of CUDA's names, read from ``replacements.toml``."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from morph.base import toml

DEVICE = "{device}"
_INNER_MODULE = re.compile(
    r"(?<=torch\.cuda)\.(memory|random|streams)(?=\.)|(?<=torch\.cuda\.amp)\.(autocast_mode|grad_scaler)(?=\.)"
)


@dataclass(frozen=True, slots=True)
class Replacement:
    """The replacement of one name; the keys of its row in ``replacements.toml``, which documents them."""

    to: str = ""
    stand_in: str = ""
    parameters: tuple[str, ...] = ()
    pass_by: str = ""
    first: str = ""
    last: str = ""
    without: str = ""
    demanded: str = ""
    reference: str | None = None
    argument: bool = False
    drop: str = ""
    look: str = ""

    @property
    def as_reference(self) -> str:
        """The replacement of a name that is not called; empty if there is none."""
        if self.reference is not None:
            return self.reference
        return "" if self.without else self.to or self.stand_in

    @property
    def is_plain(self) -> bool:
        """Whether it replaces the name everywhere, called or not."""
        asks = (self.pass_by, self.first, self.last, self.without, self.look, self.drop)
        return self.reference is None and not self.argument and not any(asks)


@dataclass(frozen=True, slots=True)
class Facts:
    """The contents of ``replacements.toml``, which documents its sections."""

    names: Mapping[str, Replacement]
    kept: tuple[str, ...]
    tells: Mapping[str, str]
    text_functions: tuple[str, ...]
    text_parameters: tuple[str, ...]
    device_numbers: Mapping[str, tuple[str, ...]]
    implied: Mapping[str, str]
    device_lists: Mapping[str, str]
    noted: Mapping[str, Mapping[str, str]]
    factories: tuple[str, ...]

    def replacement(self, name: str) -> Replacement | None:
        """Return the replacement of a dotted name, through any submodule of torch.cuda."""
        return self.names.get(_INNER_MODULE.sub("", name))

    def keeps(self, name: str) -> bool:
        """Return whether a dotted name needs no change."""
        return _is_below(name, self.kept) and not _is_below(name, self.tells)

    def pins(self, function: str) -> bool:
        """Return whether a function has the parameter ``pin_memory``."""
        return function.rpartition(".")[0] == "torch" and function.rpartition(".")[2] in self.factories

    def takes_text(self, function: str) -> bool:
        """Return whether a function accepts its device as text only."""
        return _is_below(function, self.text_functions)


@functools.cache
def facts() -> Facts:
    """Return the contents of ``replacements.toml``."""
    sections = _plain(toml.beside(__file__, "replacements.toml"))
    names = {name: Replacement(**row) for name, row in toml.expanded(sections.pop("torch"))}
    return Facts(names, kept=tuple(sections.pop("kept")), **sections)


def _plain(value: Any) -> Any:
    """Return a value of TOML with tuples for its lists, which nobody changes then."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return tuple(value) if isinstance(value, list) else value


def _is_below(name: str, owners: Iterable[str]) -> bool:
    return any(name == owner or name.startswith(f"{owner}.") for owner in owners)
