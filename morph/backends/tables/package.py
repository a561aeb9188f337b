"""A served package: the facts and rows of its ``surface.toml``, and its recorded names.

The format is documented in ``aliases/README.md``.
"""

from __future__ import annotations

import functools
import json
import pathlib
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import morph
from morph.backends.tables.rows import Row, Status
from morph.base import toml
from morph.base.errors import TableError

PACKAGES = pathlib.Path(morph.__path__[-1], "aliases", "packages")
SURFACE = "surface.toml"
NAMES = "surface.json"


@dataclass(frozen=True)
class Package:
    """A package that morph serves: the keys of its ``[package]``, which ``aliases/README.md`` documents."""

    name: str
    version: str
    summary: str
    import_names: tuple[str, ...]
    distributions: tuple[str, ...]
    requires: tuple[str, ...] = ()
    probe: tuple[str, ...] = ()
    library: str = ""

    @property
    def folder(self) -> pathlib.Path:
        """The folder with the package's tree."""
        return PACKAGES / self.name

    @functools.cached_property
    def rows(self) -> Mapping[str, Row]:
        """The status of every public name of the package, read at first use."""
        return _rows(self)

    @functools.cached_property
    def names(self) -> Mapping[str, str]:
        """Every name of the package as it was recorded, with its signature or its kind.

        Without a recording, these are the names that have a status of their own.
        """
        recording = self.folder / NAMES
        return _recorded(recording) if recording.is_file() else _stated(self)

    def decide(self, name: str) -> Row:
        """Return how the dotted ``name`` is served; a name that the package lacks is missing."""
        unknown = Row(name, Status.MISSING, note=f"{self.name} {self.version} has no such name")
        return (self.missing(name) or self.row(name) or unknown)._replace(name=name)

    def row(self, name: str) -> Row | None:
        """Return the row of the dotted ``name``: its own, or that of a prefix of it."""
        patterns = (name[:length] + "*" for length in range(len(name), 0, -1))
        return self.rows.get(name) or next(filter(None, map(self.rows.get, patterns)), None)

    def missing(self, name: str) -> Row | None:
        """Return the row with the reason why ``name`` is missing: its own, or that of a parent module."""
        while name:
            row = self.row(name)
            if row is not None:
                return row if row.status is Status.MISSING else None
            name = name.rpartition(".")[0]
        return None


def names() -> list[str]:
    """Return the names of the packages that have a tree."""
    return sorted(file.parent.name for file in PACKAGES.glob(f"*/{SURFACE}"))


@functools.cache
def load(name: str) -> Package:
    """Read the facts of the package with the tree ``name``, but not its rows.

    Raises:
        TableError: If its ``[package]`` section, which comes first, is malformed.
    """
    path = f"aliases/packages/{name}/{SURFACE}"
    text = (PACKAGES / name / SURFACE).read_text(encoding="utf-8")
    _, header, rest = text.partition("[package]")
    facts = document(header + rest.partition("\n[")[0], path).get("package", {})
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in facts.items()}
    try:
        package = Package(**values)
    except TypeError as error:
        raise TableError(path, 1, "package", str(error).replace("Package.__init__()", "section")) from None
    if package.import_names[0] != name:
        raise TableError(path, 1, "import_names", f"the first should be {name!r}, like the folder")
    return package


def document(text: str, path: str) -> dict[str, Any]:
    """Return what a table says.

    Raises:
        TableError: If it is not TOML.
    """
    try:
        return toml.loads(text)
    except toml.TOMLDecodeError as error:
        raise TableError(path, 1, "not TOML", str(error)) from None


def _recorded(recording: pathlib.Path) -> dict[str, str]:
    modules = json.loads(recording.read_text(encoding="utf-8"))["names"].items()
    return {f"{module}.{name}".lstrip("."): kind for module, of in modules for name, kind in of.items()}


def _stated(package: Package) -> dict[str, str]:
    stated = [name for name in package.rows if not name.endswith("*")]
    modules = {name[: dot.start()] for name in stated for dot in re.finditer(r"\.", name)}
    return {**dict.fromkeys(stated, ""), **dict.fromkeys({*package.import_names, *modules}, "module")}


def _rows(package: Package) -> dict[str, Row]:
    path = f"aliases/packages/{package.name}/{SURFACE}"
    sections = document((package.folder / SURFACE).read_text(encoding="utf-8"), path)
    del sections["package"]
    said = notes(sections, [status.value for status in Status], path)
    return {name: Row(name, Status(status), note=note) for name, (status, note) in said.items()}


def notes(sections: Mapping[str, Any], statuses: Container[str], path: str) -> dict[str, tuple[str, str]]:
    """Return the status and the clause of each name, of sections that are called as the statuses.

    Raises:
        TableError: If there is another section, or a name has two statuses, or no text.
    """
    found: dict[str, tuple[str, str]] = {}
    for status, entries in sections.items():
        if status not in statuses:
            raise TableError(path, 1, status, "unknown section")
        for name, note in entries.items():
            if name in found or not isinstance(note, str):
                raise TableError(path, 1, name, "should have one status, and a clause as its value")
            found[name] = status, note
    return found
