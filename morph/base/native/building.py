"""Builds libraries in one go, units side by side; each unit is kept, so that a killed build goes on."""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import pathlib
import shlex
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from morph.base import host, private
from morph.base.errors import BuildError
from morph.base.native import cache, compiling, turns
from morph.base.native.commands import CommandError, run_together
from morph.base.native.library import Library
from morph.base.native.progress import Progress, waiting

failed: dict[pathlib.Path, BuildError] = {}  # by place: what this process could not build
GIVEN_WAY = 1.0  # seconds in which the other process takes its turn


def build(libraries: Sequence[Library]) -> None:
    """Build libraries in the first folder of the cache that can be used.

    Args:
        libraries: Those that are missing.

    Raises:
        BuildError: If there is no compiler, if one of them cannot be built, or if there is no folder.
    """
    problems = []
    for folder in cache.folders():
        try:
            private.prepare(folder)
            while not _is_built(libraries, folder):
                time.sleep(GIVEN_WAY)
            return
        except OSError as error:  # no place left, or nothing can be written
            problems.append(f"{folder}: {error.strerror or error}")
    names = ", ".join(repr(each.name) for each in libraries)
    raise BuildError(f"no folder to keep the C++ part {names} in: {'; '.join(problems)}")


def is_worthwhile(libraries: Sequence[Library]) -> bool:
    """Return whether libraries can be built: there is a compiler that has refused none, and nobody builds."""
    try:
        command, folder = host.compiler(), cache.folders()[0]
        private.prepare(folder)
    except (BuildError, OSError):
        return False
    if turns.status(folder):
        return False
    return not any(compiling.has_refused(command, _log(folder, library)) for library in libraries)


def alone(folder: pathlib.Path) -> AbstractContextManager[None]:
    """Keep other processes from building in a folder, inside a ``with`` block."""
    return cache.locked(folder / "build", functools.partial(waiting, folder))


def _is_built(libraries: Sequence[Library], folder: pathlib.Path) -> bool:
    """Build what is missing in a folder; return False if a process of higher priority shall build first."""
    with alone(folder):
        turns.begin(folder)
        missing = [each for each in libraries if not cache.is_sound(folder / each.place)]
        try:
            if missing:
                _Build(missing, folder).run()
        except turns.GivesWay:
            return False
        shutil.rmtree(folder / cache.OBJECTS, ignore_errors=True)
        return True


class _Compilation(NamedTuple):
    """One unit of one library: the compiler's command, and the object that it makes."""

    library: Library
    words: list[str]
    partial: pathlib.Path
    object: pathlib.Path


class _Build:
    """One build in one folder of the cache.

    Args:
        libraries: What is built.
        folder: The folder.
    """

    def __init__(self, libraries: Sequence[Library], folder: pathlib.Path) -> None:
        self._libraries = libraries
        self._folder = folder
        self._compiler = host.compiler()
        self._problems: dict[str, CommandError] = {}

    def run(self) -> None:
        problems = [self._earlier(each) for each in self._libraries if self._has_refused(each)]
        self._libraries = [each for each in self._libraries if not self._has_refused(each)]
        if not self._libraries:
            raise problems[0]
        compilations = [each for library in self._libraries for each in self._compilations(library)]
        waiting = [each for each in compilations if not each.object.exists()]
        try:
            with Progress(self._folder, len(waiting)) as progress:
                self._compile(waiting, progress)
                self._link()
                broken = [each for each in self._libraries if each.name in self._problems]
                found = {each.place: self._problem(each) for each in broken}
                failed.update({place: each for place, each in found.items() if isinstance(each, BuildError)})
                for problem in [*problems, *found.values()]:
                    raise problem
        except KeyboardInterrupt:
            raise KeyboardInterrupt("morph's C++ parts were being built; the next start goes on") from None

    def _compilations(self, library: Library) -> Iterator[_Compilation]:
        recipe, objects = library.recipe(), self._objects(library)
        private.prepare(objects)
        options = [each.format(folder=self._folder) for each in recipe.options]
        for unit in recipe.units:
            source = objects / f"{unit.name}.cpp"
            source.write_text(unit.text)
            partial = source.with_suffix(f".{os.getpid()}.partial")  # a compiler may outlive a killed process
            words = [*self._compiler, *options, "-c", str(source), "-o", str(partial)]
            yield _Compilation(library, words, partial, source.with_suffix(".o"))

    def _objects(self, library: Library) -> pathlib.Path:
        """Return the folder that keeps objects until all is built, another for each compiler."""
        recipe = library.recipe()
        identity = "\0".join([recipe.sources, *recipe.options, compiling.identity(self._compiler)])
        return self._folder / cache.OBJECTS / hashlib.sha256(identity.encode()).hexdigest()[:20]

    def _compile(self, compilations: Sequence[_Compilation], progress: Progress) -> None:
        def ended(number: int, error: CommandError | None) -> None:
            compilation = compilations[number]
            if error is None:
                os.replace(compilation.partial, compilation.object)
            else:
                self._problems.setdefault(compilation.library.name, error)
            progress.advance()

        run_together(
            [each.words for each in compilations], ended, functools.partial(turns.check, self._folder)
        )

    def _link(self) -> None:
        ready = [each for each in self._libraries if each.name not in self._problems]

        def ended(number: int, error: CommandError | None) -> None:
            library = ready[number]
            objects = self._objects(library)
            if error is None:
                cache.keep(objects / library.place.name, self._folder / library.place)
            else:
                self._problems[library.name] = error
                shutil.rmtree(objects, ignore_errors=True)  # one of them may be broken

        run_together([self._link_command(each) for each in ready], ended)

    def _link_command(self, library: Library) -> list[str]:
        objects, recipe = self._objects(library), library.recipe()
        names = [str(objects / f"{unit.name}.o") for unit in recipe.units]
        links = [each.format(folder=self._folder) for each in recipe.links]
        return [*self._compiler, "-shared", *names, *links, "-o", str(objects / library.place.name)]

    def _has_refused(self, library: Library) -> bool:
        return compiling.has_refused(self._compiler, _log(self._folder, library))

    def _earlier(self, library: Library) -> Exception:
        earlier = f"an earlier build of the C++ part {library.name!r} failed"
        return BuildError(f"{earlier}, see {_log(self._folder, library)}; delete it to try again")

    def _problem(self, library: Library) -> Exception:
        error = self._problems[library.name]
        if error.is_about_space:
            return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        problem = f"the C++ part {library.name!r} did not build: {compiling.remedied(error)}"
        if error.is_transient:
            return BuildError(problem)
        log = _log(self._folder, library)
        log.write_text(f"{compiling.identity(self._compiler)}\n{shlex.join(error.command)}\n{error.output}")
        return BuildError(f"{problem}; see {log}")


def _log(folder: pathlib.Path, library: Library) -> pathlib.Path:
    return (folder / library.place).with_suffix(".log")
