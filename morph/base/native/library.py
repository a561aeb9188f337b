"""A library that morph builds in C++: the translation units that it is compiled from, and where it lies."""

from __future__ import annotations

import hashlib
import pathlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

from morph.base.errors import BuildError


class Unit(NamedTuple):
    """What the compiler reads in one go.

    Attributes:
        name: Its file name without a suffix.
        text: C++, mostly lines that include files: torch's headers take longer to read than all that follows
            them, so that a folder of files is one unit.
    """

    name: str
    text: str


class Recipe(NamedTuple):
    """How a library is built.

    Attributes:
        sources: A digest of what its units include: libraries of the same sources and options share objects.
        units: What it is compiled from.
        options: The compiler's options; ``{folder}`` stands for the folder of libraries.
        links: The linker's options, likewise.
    """

    sources: str
    units: tuple[Unit, ...]
    options: tuple[str, ...]
    links: tuple[str, ...]


class Library(NamedTuple):
    """A shared library.

    Attributes:
        name: What messages call it, and its module's name if it is an extension module.
        place: Where it lies in a folder of libraries: another place for each source, option and machine.
        recipe: Returns how it is built; no start needs it that finds the library.
    """

    name: str
    place: pathlib.Path
    recipe: Callable[[], Recipe]


def together(name: str, files: Iterable[pathlib.Path]) -> Unit:
    """Return the unit that some C++ files are.

    Args:
        name: The unit's name.
        files: The files; names in their anonymous namespaces differ.

    Raises:
        BuildError: If there are none.
    """
    files = sorted(files)
    if not files:
        raise BuildError(f"the C++ sources of {name!r} are gone; install morph again")
    return Unit(name, "".join(f'#include "{file}"\n' for file in files))


def ensure_unchanged(place: pathlib.Path, now: pathlib.Path) -> None:
    """Refuse to build a library whose sources have changed since its place was named by their digest.

    An installer may replace or remove them while a process still builds; call it after the units are listed.

    Args:
        place: Where the library lies by its sources as they were.
        now: Where it lies by those of now.

    Raises:
        BuildError: If the two differ.
    """
    if place != now:
        raise BuildError(f"the C++ sources of {place.name} have changed since the start; start again")


def digest(identity: Iterable[str], folders: Iterable[pathlib.Path], generated: Iterable[Unit] = ()) -> str:
    """Return a digest of sources and of what else makes a difference to what is built.

    Args:
        identity: The compiler's options, the target.
        folders: What lies below them in C++ counts.
        generated: Units that are made of text.
    """
    found = hashlib.sha256("\0".join(identity).encode())
    for folder in folders:
        for file in sorted(path for path in folder.rglob("*") if path.suffix in (".cpp", ".h")):
            found.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    for unit in generated:
        found.update(unit.name.encode() + b"\0" + unit.text.encode())
    return found.hexdigest()[:20]
