"""The cards that a software device can stand for: the profiles in ``aliases/cards``."""

from __future__ import annotations

import functools
import importlib.resources
from typing import TYPE_CHECKING, Any, NamedTuple

from morph.base import toml
from morph.base.errors import MorphError, did_you_mean

if TYPE_CHECKING:
    from importlib.abc import Traversable


class UnknownCardError(MorphError):
    """No profile describes the card."""

    def __init__(self, source: str, name: str) -> None:
        hint = did_you_mean(name, names())
        super().__init__(
            f"{source}: there is no profile {name!r}; the profiles are {', '.join(names())}{hint}"
        )


class Card(NamedTuple):
    """A card, as the vendor's driver describes it.

    Attributes:
        name: The profile's name, ``"h100"``.
        backend: The backend whose software devices can stand for it.
        properties: The fields of torch's device properties that are the card's own.
        board: What the sensors of an idle board read; empty if no source tells it.
        nvlink: The fields of its NVLink, and the number of switches; empty if it has none.
        peers: Whether such cards can access each other's memory.
    """

    name: str
    backend: str
    properties: dict[str, Any]
    board: dict[str, Any] = {}
    nvlink: dict[str, Any] = {}
    peers: bool = True

    @property
    def memory(self) -> int:
        """Bytes of the card's memory, as torch reports them."""
        return int(self.properties["total_memory"])

    @property
    def capability(self) -> int:
        """The compute capability, 90 for 9.0."""
        return int(self.properties["major"]) * 10 + int(self.properties["minor"])


def names() -> list[str]:
    """Return the names of the profiles."""
    return sorted(_files())


@functools.cache
def load(name: str, source: str) -> Card:
    """Read a profile.

    Args:
        name: The profile's name.
        source: What it is called where it was given, for an error.

    Raises:
        UnknownCardError: If there is none of this name.
    """
    if name not in _files():
        raise UnknownCardError(source, name)
    return Card(name, **toml.loads(_files()[name].read_text(encoding="utf-8")))


@functools.cache
def _files() -> dict[str, Traversable]:
    folder = importlib.resources.files("morph.aliases") / "cards"
    return {each.name.removesuffix(".toml"): each for each in folder.iterdir() if each.name.endswith(".toml")}
