"""The modules beside a program, which belong to it like the program's own file."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator
from importlib.machinery import PathFinder, all_suffixes

_INIT = tuple(f"__init__{suffix}" for suffix in all_suffixes())


def modules_beside(folder: pathlib.Path) -> Iterator[str]:
    """Yield the names of the modules and packages in a program's own folder, which it finds first.

    As in Python, a package on the path takes precedence over a folder of that name without ``__init__.py``.

    Args:
        folder: The program's folder.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        name = entry.name.partition(".")[0]
        if name.isidentifier() and _is_module(entry, name):
            yield name


def _is_module(entry: os.DirEntry[str], name: str) -> bool:
    if not entry.is_dir():
        return entry.name.endswith(tuple(all_suffixes()))
    if entry.name != name:
        return False
    try:
        inside = os.listdir(entry.path)
    except OSError:
        return False
    if any(file in _INIT for file in inside):
        return True
    return any(file.endswith(".py") for file in inside) and not _is_elsewhere(name)


def _is_elsewhere(name: str) -> bool:
    """Return whether a real package of this name is on the path, on which the program's folder is not yet."""
    spec = PathFinder.find_spec(name)
    return spec is not None and spec.origin is not None
