"""Compiles CUDA's libraries as the software device serves them, for one machine and every torch."""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Sequence

from morph.kernels.libraries.interception import STEMS
from morph.kernels.libraries.loading import described
from morph.native.commands import CommandError
from morph.native.shared import FLAGS, SharedLibrary
from morph.tables import library
from morph.wheels.building import Library, WheelError, compiler, identity


def build(machine: str, folder: pathlib.Path, stems: Sequence[str] = STEMS) -> list[Library]:
    """Build the served libraries, as the tables of this installation describe them.

    Args:
        machine: ``"x86_64"`` or ``"aarch64"``.
        folder: Keeps them.
        stems: The names of those to build, ``"libcudart"``.

    Raises:
        WheelError: If there is no compiler for the machine, or it fails.
    """
    tables = map(library.load, stems)
    wanted = [described(table, file, "cpu") for table in tables for file in table.releases]
    return [_build(each, machine, folder) for each in wanted]


def _build(wanted: SharedLibrary, machine: str, folder: pathlib.Path) -> Library:
    command, place = compiler(machine), wanted.place(machine)
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            try:
                os.replace(wanted.compile(command, pathlib.Path(scratch)), path)
            except CommandError as error:
                raise WheelError(f"{wanted.file} did not build for {machine}: {error.summary}") from None
    record = {
        "part": wanted.file,
        "machine": machine,
        "compiler": identity(command),
        "options": list(FLAGS),
        "size": path.stat().st_size,
    }
    return Library(path, place, record)
