"""The replacements of CUDA's names, read from ``replacements.toml``."""

from __future__ import annotations

import functools
import importlib.resources
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
    """The contents of ``replacements.toml``.

    Attributes:
        names: The replacement of each name.
        kept: Names that work without CUDA, including those below them.
        tells: Names among those that report about CUDA, with their value where there is none.
        text_functions: Functions whose devices are text, including those below them.
        text_parameters: Parameters whose devices are text.
        device_numbers: Parameters that are None where there is no accelerator, by function.
        factories: Functions of torch's that take ``pin_memory``.
        device_lists: The parameter for the accelerator's devices, of which the CPU has none, by function.
        noted: Notes for a person on functions of torch's in ported modules, and their stand-in.
        implied: The parameter for the device's type of functions that mean CUDA where none is named.
    """

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
    text = importlib.resources.files(__package__).joinpath("replacements.toml").read_text(encoding="utf-8")
    sections = toml.loads(text)
    return Facts(
        {name: _replacement(row) for name, row in sections["torch"].items()},
        tuple(sections["kept"]),
        sections["tells"],
        tuple(sections["text"]["functions"]),
        tuple(sections["text"]["parameters"]),
        {name: tuple(parameters) for name, parameters in sections["device_numbers"].items()},
        sections["implied"],
        sections["device_lists"],
        sections["noted"],
        tuple(sections["pinning"]["functions"]),
    )


def _replacement(row: Mapping[str, Any]) -> Replacement:
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
    return Replacement(**values)


def _is_below(name: str, owners: Iterable[str]) -> bool:
    return any(name == owner or name.startswith(f"{owner}.") for owner in owners)
