"""The files that a scan reads: those of paths, and those of importable packages, without importing them."""

from __future__ import annotations

import importlib.machinery
import os
import pathlib
import stat
from collections.abc import Iterable, Iterator, Sequence

from morph.base.errors import MorphError
from morph.source.scan.exclusion import BUILT, Pattern, excluded, is_own_source
from morph.source.scan.notebooks import NOTEBOOK

PYTHON = (".py", ".pyw")
CUDA = (".cu", ".cuh")
CPP = (*CUDA, ".cpp", ".cc", ".cxx", ".h", ".hpp", ".hxx", ".inl")
READ = (*PYTHON, *CPP, NOTEBOOK)
Files = list[pathlib.Path]
LARGEST = 32  # MiB; a tree takes about a hundred times as much


class NothingToScanError(MorphError):
    """A path or a package does not exist."""


def files(paths: Iterable[str], packages: Iterable[str] = ()) -> list[pathlib.Path]:
    """Return the files to scan, each once, in the order of the paths; see ``chosen``."""
    return chosen([*map(pathlib.Path, paths), *map(locate, packages)])[0]


def chosen(places: Iterable[pathlib.Path], patterns: Sequence[Pattern] = ()) -> tuple[Files, Files]:
    """Choose the files to scan.

    Args:
        places: Files, which are read whatever their names, and folders.
        patterns: What to leave out, even if it is one of the places.

    Returns:
        The files, each once, in the order of the places; and what is left out: what matches the patterns, and
        folders that look like the output of a build.

    Raises:
        NothingToScanError: If a place does not exist.
    """
    left_out: list[pathlib.Path] = []
    found = (file for place in places for file in _files_of(place, patterns, left_out))
    return list(dict.fromkeys(found)), list(dict.fromkeys(left_out))


def read(file: pathlib.Path) -> bytes:
    """Return what is in a file.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is no regular file, or too large.
    """
    check_regular(file)
    with open(file, "rb") as opened:
        data = opened.read((LARGEST << 20) + 1)
    if len(data) > LARGEST << 20:
        raise ValueError(f"is larger than {LARGEST} MiB")
    return data


def check_regular(file: pathlib.Path) -> None:
    """Check that reading a file neither waits for another program nor drives a device.

    Raises:
        OSError: If there is no such file, or it is a folder that cannot be listed.
        ValueError: If it is no regular file.
    """
    mode = os.stat(file).st_mode
    if stat.S_ISDIR(mode):
        os.scandir(file).close()
    if not stat.S_ISREG(mode):
        raise ValueError("is no regular file")


def locate(name: str) -> pathlib.Path:
    """Return the folder of an importable package, or the file of a module, without importing anything.

    Raises:
        NothingToScanError: If there is none, or it has no source.
    """
    search: Sequence[str] | None = None
    place: str | None = None
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        spec = importlib.machinery.PathFinder.find_spec(".".join(parts[:count]), search)
        if spec is None:
            raise NothingToScanError(f"there is no package {name!r} to scan")
        search = spec.submodule_search_locations
        place = next(iter(search), None) if search else spec.origin
    if place is None or pathlib.Path(place).suffix in importlib.machinery.EXTENSION_SUFFIXES:
        raise NothingToScanError(f"{name} has no Python source to scan")
    return pathlib.Path(place)


def _files_of(
    place: pathlib.Path, patterns: Sequence[Pattern], left_out: list[pathlib.Path]
) -> Iterator[pathlib.Path]:
    if not os.path.exists(place):
        raise NothingToScanError(f"there is no file or folder {str(place)!r} to scan")
    if excluded(place, patterns):
        left_out.append(place)
    elif os.path.isdir(place):
        yield from _files_below(place, patterns, left_out)
    else:
        yield place


def _files_below(
    folder: pathlib.Path, patterns: Sequence[Pattern], left_out: list[pathlib.Path]
) -> Iterator[pathlib.Path]:
    unlisted: list[OSError] = []
    for path, folders, names in os.walk(folder, onerror=unlisted.append):
        here = pathlib.Path(path)
        own = [name for name in sorted(folders) if is_own_source(here / name)]
        left_out += (here / name for name in sorted({*folders} & {*BUILT} - {*own}))
        sources = [name for name in sorted(names) if name.endswith(READ)]
        unwanted = {name for name in (*own, *sources) if patterns and excluded(here / name, patterns)}
        left_out += (here / name for name in sorted(unwanted))
        folders[:] = [name for name in own if name not in unwanted]
        yield from (here / name for name in sources if name not in unwanted)
    yield from (pathlib.Path(error.filename) for error in unlisted)  # reading them says why
