"""Compiles the C++ parts for one torch, one machine and several Pythons."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import platform
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

from morph.base import host
from morph.base.errors import MorphError
from morph.base.native import compiling
from morph.base.native.commands import CommandError, run_together
from morph.base.native.library import digest
from morph.base.native.parts import Part
from morph.base.native.target import Target, release
from morph.running.wheels.headers import Python, Torch


class WheelError(MorphError):
    """A library of a wheel that cannot be built, or a wheel that cannot be made."""


@dataclasses.dataclass(frozen=True)
class Library:
    """A built library.

    Attributes:
        path: Where it was built.
        place: Where it goes in the wheel's folder of libraries.
        record: What it was built from and for, which the wheel records.
    """

    path: pathlib.Path
    place: pathlib.Path
    record: dict[str, Any]


def compiler(machine: str) -> list[str]:
    """Return the command of the compiler for a machine: this one's own, or Debian's cross compiler.

    Raises:
        WheelError: If it is not installed.
    """
    if machine == platform.machine():
        return host.compiler()
    name = f"{machine}-linux-gnu-g++"
    if not shutil.which(name):
        raise WheelError(f"no compiler for {machine}: {name} not found; install g++-{machine}-linux-gnu")
    return [name]


def identity(command: Sequence[str]) -> str:
    """Return a compiler's name and release."""
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    return version.stdout.splitlines()[0]


class Builder:
    """Builds the libraries of one torch and one machine; objects without Python in them serve each Python."""

    def __init__(self, torch: Torch, machine: str, folder: pathlib.Path) -> None:
        self._torch = torch
        self._machine = machine
        self._compiler = compiler(machine)
        self._folder = folder / f"{torch.revision[:12]}-{machine}"
        self._folder.mkdir(parents=True, exist_ok=True)

    def build(self, part: Part, python: Python) -> Library:
        """Build one library.

        Raises:
            WheelError: If the compiler fails.
        """
        library = self._folder / part.file(self._target(python))
        try:
            self._link(self._objects(part, python), library)
        except CommandError as error:
            raise WheelError(
                f"{part.name} did not build for torch {self._torch.version}, {self._machine}: {error.summary}"
            ) from None
        return Library(library, pathlib.Path(library.name), self._record(part, python, library))

    def _target(self, python: Python) -> Target:
        """Return what is built for; wheels of torch have the C++11 ABI since 2.7."""
        torch, suffix = self._torch, python.suffix(self._machine)
        return Target(release(torch.version), torch.revision, True, torch.pybind11_abi, suffix)

    def _record(self, part: Part, python: Python, library: pathlib.Path) -> dict[str, Any]:
        return {
            "part": part.name,
            "torch": release(self._torch.version),
            "headers": self._torch.version,
            "revision": self._torch.revision,
            "python": python.version,
            "machine": self._machine,
            "compiler": identity(self._compiler),
            "options": [*compiling.FLAGS, part.level],
            "size": library.stat().st_size,
        }

    def _objects(self, part: Part, python: Python) -> list[pathlib.Path]:
        includes = [*compiling.torch_includes(self._torch.include), python.include, part.root]
        words = [*self._compiler, *compiling.options(part.name, self._target(python), includes, part.level)]
        of_sources = digest([*compiling.FLAGS, part.level], [part.root])
        stems = {f"{part.name}-{unit.name}-{of_sources}": unit for unit in part.units()}
        missing = {stem: unit for stem, unit in stems.items() if not self._object(stem, python)}
        paths = [self._folder / f"{stem}-{python.tag}.o" for stem in missing]
        partial = [path.with_suffix(".partial") for path in paths]
        for path, unit in zip(paths, missing.values(), strict=True):
            path.with_suffix(".cpp").write_text(unit.text)
        run_together(
            [
                [*words, "-MMD", "-MF", path.with_suffix(".d"), "-c", path.with_suffix(".cpp"), "-o", written]
                for path, written in zip(paths, partial, strict=True)
            ]
        )
        for path, written in zip(paths, partial, strict=True):
            os.replace(written, path)
        found = [self._object(stem, python) for stem in stems]
        return [path for path in found if path]

    def _object(self, stem: str, python: Python) -> pathlib.Path | None:
        """Return the object of a source: this Python's, or another one's that does not contain Python.h."""
        for path in sorted(self._folder.glob(f"{stem}-*.o")):
            if path.stem == f"{stem}-{python.tag}" or "/Python.h" not in path.with_suffix(".d").read_text():
                return path
        return None

    def _link(self, objects: Sequence[pathlib.Path], library: pathlib.Path) -> None:
        """Link against empty libraries with torch's names, which the loader finds in the process later."""
        named = [self._empty_library(name) for name in compiling.LIBRARIES]
        inputs = [*map(str, objects), "-Wl,--no-as-needed", *map(str, named)]
        run_together([[*self._compiler, "-shared", "-s", *inputs, "-o", str(library)]])

    def _empty_library(self, name: str) -> pathlib.Path:
        path = self._folder / f"lib{name}.so"
        if not path.exists():
            words = shlex.split(f"-shared -nostdlib -Wl,-soname,{path.name} -x c++ /dev/null -o")
            run_together([[*self._compiler, *words, str(path)]])
        return path
