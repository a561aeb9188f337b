"""morph's C++ parts: those of the installed wheel, else built once against the installed torch and cached."""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import pathlib
from collections.abc import Iterable, Iterator
from types import ModuleType

from morph.base.errors import BuildError
from morph.base.native import building, cache, prebuilt
from morph.base.native.building import is_worthwhile
from morph.base.native.library import Library, Recipe, digest
from morph.base.native.parts import parts

__all__ = [
    "BuildError",
    "Library",
    "Recipe",
    "build",
    "digest",
    "find",
    "is_worthwhile",
    "load",
    "part",
    "parts",
    "provide",
]


@functools.cache
def part(name: str) -> Library:
    """Return one of the libraries that are built against the installed torch.

    Args:
        name: ``"device"``, ``"boxed_device"``, ``"collective"``, ``"torchscript"`` or ``"seam"``.
    """
    return parts()[name].library()


def find(library: Library) -> pathlib.Path | None:
    """Return the path of a library that the wheel or the cache holds, or None."""
    found = prebuilt.find(library.place)
    return found or next(iter(_kept(library)), None)


def build(wanted: Iterable[Library]) -> None:
    """Build those libraries that neither the wheel nor the cache holds, all in one go; nothing is loaded.

    Of several processes at once one builds, and the others wait for it.

    Args:
        wanted: The libraries.

    Raises:
        BuildError: If one cannot be built; the others are. A refusal of the compiler is remembered beside
            the cached libraries, so that it costs its seconds once; one that was killed is tried again.
    """
    missing = [library for library in wanted if find(library) is None]
    for library in missing[:1]:
        if library.place in building.failed:  # for whoever loads it after a build of all
            raise building.failed[library.place]
    if missing:
        building.build(missing)


def provide(library: Library) -> pathlib.Path:
    """Return the path of a library, built if need be.

    Raises:
        BuildError: If it cannot be built.
    """
    found = find(library)
    if found is None:
        build([library])
        found = find(library)
    assert found is not None, f"{library.place} was built, and is not there"
    return found


def load(library: Library) -> ModuleType:
    """Import an extension module, built if need be, without entering it in ``sys.modules``.

    Raises:
        BuildError: If it cannot be built, or loaded from any folder that it can be kept in.
    """
    problems = []
    for path in _candidates(library):
        try:
            return _import(library.name, path)
        except ImportError as error:  # a file system that nothing is executed from, for one
            problems.append(str(error))
    raise BuildError(f"the C++ part {library.name!r} cannot be loaded: {'; '.join(problems)}")


def _candidates(library: Library) -> Iterator[pathlib.Path]:
    """Yield the path of a library, and then those of copies in the other folders of the cache."""
    first = provide(library)
    yield first
    others = [path for path in _kept(library) if path != first]
    yield from others
    yield from cache.copies(first, library.place, [first, *others])


def _kept(library: Library) -> list[pathlib.Path]:
    paths = [folder / library.place for folder in cache.folders()]
    return [path for path in paths if cache.is_sound(path)]


def _import(name: str, library: pathlib.Path) -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader(name, str(library))
    spec = importlib.util.spec_from_file_location(name, library, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
