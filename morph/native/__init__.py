"""morph's C++ parts: those of the installed wheel, else built once against the installed torch and cached."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import pathlib
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType

from morph.errors import BuildError
from morph.native import cache, compiling, prebuilt
from morph.native.target import Target

__all__ = ["BuildError", "build", "load"]

Progress = Callable[[str], None]


def build(
    name: str, sources: Sequence[os.PathLike[str] | str], *, progress: Progress | None = None
) -> pathlib.Path:
    """Build an extension module from C++ sources unless the wheel or the cache holds it; nothing is loaded.

    Of several processes at once one builds, and the others wait for it.

    Args:
        name: The module's name, also its ``TORCH_EXTENSION_NAME``.
        sources: The C++ files; headers that lie beside them (``*.h``) count as part of them.
        progress: Called with one line before a build, and before waiting for one.

    Returns:
        The path of the shared library.

    Raises:
        BuildError: If it cannot be built. A refusal of a compiler is remembered beside the cached
            libraries, so that it costs its seconds once; a compiler that was killed is tried again.
    """
    return next(_libraries(name, [pathlib.Path(source) for source in sources], progress))


def load(
    name: str, sources: Sequence[os.PathLike[str] | str], *, progress: Progress | None = None
) -> ModuleType:
    """Import an extension module, built if need be, without entering it in ``sys.modules``.

    Args:
        name: As for ``build``.
        sources: As for ``build``.
        progress: As for ``build``.

    Raises:
        BuildError: If it cannot be built, or loaded from any folder that it can be kept in.
    """
    problems = []
    for library in _libraries(name, [pathlib.Path(source) for source in sources], progress):
        try:
            return _import(name, library)
        except ImportError as error:  # a file system that nothing is executed from, for one
            problems.append(str(error))
    raise BuildError(f"the C++ part {name!r} cannot be loaded: {'; '.join(problems)}")


def _libraries(name: str, sources: list[pathlib.Path], progress: Progress | None) -> Iterator[pathlib.Path]:
    """Yield the wheel's library, then one per folder of the cache, built or copied there if need be."""
    target = Target.installed()
    file = target.library_name(name, sources, compiling.FLAGS)
    if prepared := prebuilt.find(file, target.torch, target.revision):
        yield prepared
    kept = [folder / file for folder in cache.folders() if cache.is_sound(folder / file)]
    yield from kept.copy()
    problems = []
    for folder in cache.folders():
        if folder / file in kept:
            continue
        try:
            kept.append(_provide(folder / file, kept, name, sources, progress))
        except OSError as error:  # no place left, or nothing can be written
            problems.append(f"{folder}: {error.strerror or error}")
            continue
        yield kept[-1]
    if not kept:
        raise BuildError(f"no folder to keep the C++ part {name!r} in: {'; '.join(problems)}")


def _provide(
    library: pathlib.Path,
    kept: list[pathlib.Path],
    name: str,
    sources: list[pathlib.Path],
    progress: Progress | None,
) -> pathlib.Path:
    cache.prepare(library.parent)
    with cache.locked(library, progress):
        if cache.is_sound(library):
            return library
        with cache.scratch(library) as folder:
            built = kept[0] if kept else compiling.compile_library(name, sources, library, folder, progress)
            cache.keep(built, library)
    return library


def _import(name: str, library: pathlib.Path) -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader(name, str(library))
    spec = importlib.util.spec_from_file_location(name, library, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
