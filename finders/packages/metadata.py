"""The metadata of served packages, in the form that ``importlib.metadata`` and its backports each expect."""

from __future__ import annotations

import functools
import os
import pathlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from morph.backends.tables.package import Package
from morph.finders.packages import folders


def normalized(name: str) -> str:
    """Return a distribution's ``name``, normalized according to PEP 503.

    >>> normalized("Flash_Attn") == normalized("flash-attn")
    True
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def distribution(package: Package, name: str, library: Any) -> Any:
    """Return the distribution ``name`` of a served ``package``.

    Args:
        package: The package.
        name: One of the names of its distribution.
        library: The module of the ``Distribution`` base class: ``importlib.metadata``, or a backport.
    """
    served: Any = _class_for(library)(package, name)
    return served


@functools.cache
def _class_for(library: Any) -> Any:
    class ServedDistribution(library.Distribution):  # type: ignore[misc]  # the caller's own
        """A distribution whose files are part of morph."""

        def __init__(self, package: Package, name: str) -> None:
            self._package = package
            self._distribution = name

        @property
        def name(self) -> str:
            """The distribution's name, which the base class would parse its metadata for."""
            return self._distribution

        def read_text(self, filename: str) -> str | None:
            """Return the text of a metadata file, or None if there is no such file."""
            writer = _FILES.get(filename)
            return writer(self._package, self._distribution) if writer else None

        def locate_file(self, path: str | os.PathLike[str]) -> pathlib.Path:
            """Return the path of a file of the distribution."""
            inside = pathlib.Path(folders.PACKAGES, path)
            return inside if inside.exists() else pathlib.Path(folders.EXTENSIONS, path)

    return ServedDistribution


def _metadata(package: Package, name: str) -> str:
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {package.version}\nSummary: {package.summary}\n"
    return head + "".join(f"Requires-Dist: {needed}\n" for needed in package.requires)


def _sources(package: Package) -> Iterator[pathlib.Path]:
    for name in package.import_names:
        file = pathlib.Path(folders.top_level(name))
        root = folders.PACKAGES if folders.has_tree(name) else folders.EXTENSIONS
        files = file.parent.rglob("*.py") if folders.folders_of(str(file)) else [file]
        yield from (each.relative_to(root) for each in files)


_FILES: dict[str, Callable[[Package, str], str]] = {
    "METADATA": _metadata,
    "RECORD": lambda package, name: "".join(f"{file.as_posix()},,\n" for file in sorted(_sources(package))),
    "top_level.txt": lambda package, name: "".join(f"{each}\n" for each in package.import_names),
    "INSTALLER": lambda package, name: "morph\n",
}
