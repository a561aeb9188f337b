"""Compiles CUDA's libraries as the software device serves them, for one machine and every torch."""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Sequence

from morph.base import native
from morph.base.native.commands import CommandError, run_together
from morph.kernels.libraries import FLAGS, STEMS, every
from morph.running.wheels.building import Library, WheelError, compiler, identity


def build(machine: str, folder: pathlib.Path, stems: Sequence[str] = STEMS) -> list[Library]:
    """Build the served libraries, as the tables of this installation describe them.

    Args:
        machine: ``"x86_64"`` or ``"aarch64"``.
        folder: Keeps them.
        stems: The names of those to build, ``"libcudart"``.

    Raises:
        WheelError: If there is no compiler for the machine, or it fails.
    """
    return [_build(each, machine, folder) for each in every("cpu", stems, machine)]


def _build(wanted: native.Library, machine: str, folder: pathlib.Path) -> Library:
    command, path = compiler(machine), folder / wanted.place
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            try:
                os.replace(_compiled(wanted, command, pathlib.Path(scratch)), path)
            except CommandError as error:
                raise WheelError(f"{wanted.name} did not build for {machine}: {error.summary}") from None
    record = {
        "part": wanted.name,
        "machine": machine,
        "compiler": identity(command),
        "options": list(FLAGS),
        "size": path.stat().st_size,
    }
    return Library(path, wanted.place, record)


def _compiled(wanted: native.Library, command: Sequence[str], folder: pathlib.Path) -> pathlib.Path:
    recipe, sources = wanted.recipe(), list[pathlib.Path]()
    for unit in recipe.units:
        sources.append(folder / f"{unit.name}.cpp")
        sources[-1].write_text(unit.text)
    run_together(
        [[*command, *recipe.options, "-shared", *sources, *recipe.links, "-o", folder / wanted.name]]
    )
    return folder / wanted.name
