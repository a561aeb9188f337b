"""Modules of kernels that programs compile while they run, as NVIDIA's nvrtc does: text in, an image out."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import subprocess
from collections.abc import Mapping, Sequence

from morph.base import native, private, variables
from morph.base.errors import MorphError
from morph.kernels.extensions import loading, nvcc, toolkit
from morph.kernels.extensions.image import Image, ImageError
from morph.software import settings

_EXPRESSION = "static const ::morph_cuda::Known morph_expression_{number}({quoted}, &{expression});\n"
_DEFAULT = "default_program"  # as NVIDIA's nvrtc calls one without a name
_UNKNOWN = re.compile(r"unrecognized command[- ]line option|nvcc .*: a value is missing")


class CompilationError(MorphError):
    """A program that does not compile; the text is the compiler's log.

    Args:
        log: What the compiler says.
    """

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.is_of_options = _UNKNOWN.search(log) is not None


@dataclasses.dataclass(frozen=True)
class Program:
    """What a module is compiled from.

    Attributes:
        text: CUDA C++.
        name: The name that its errors have.
        headers: The text of headers, by the names that it includes them by.
        expressions: C++ of what is asked for by its lowered name: ``"scale<float>"``, ``"&table"``.
    """

    text: str
    name: str
    headers: Mapping[str, str]
    expressions: tuple[str, ...] = ()


def build(program: Program, options: Sequence[str]) -> Image:
    """Compile a program, or return what the cache has of it.

    Args:
        program: The program.
        options: As nvcc takes them.

    Raises:
        CompilationError: If it does not compile.
    """
    tools = toolkit.assemble()
    native.provide(tools.library())
    kept = _place(program, options)
    found = _find(kept)
    if found is None:
        found, needed = _compile(program, options, tools)
        with contextlib.suppress(OSError):
            _keep(kept, found, needed)
    return found


def _compile(
    program: Program, options: Sequence[str], tools: toolkit.Toolkit
) -> tuple[Image, dict[str, tuple[int, int]]]:
    with private.scratch("morph-module-") as folder:
        source, built, listed = folder / _file(program.name), folder / "module.so", folder / "needed"
        for name, text in program.headers.items():
            _write(folder / "headers" / name, text)
        _write(source, _source(program))
        words = [*options, f"-I{folder / 'headers'}", *nvcc.MODULE, *nvcc.LINKED]
        words += ["-MD", "-MF", str(listed), "-o", str(built), str(source)]
        done = subprocess.run(
            [str(tools.home / "bin" / "nvcc"), *words], capture_output=True, text=True, errors="replace"
        )
        if done.returncode:
            raise CompilationError((done.stdout + done.stderr).replace(f"{folder}/headers/", ""))
        with loading.opened(built) as module:
            image = Image(module.lowered(program.expressions), built.read_bytes())
        return image, _states(_listed(listed, {str(folder), str(tools.home)}))


def _source(program: Program) -> str:
    name = json.dumps(os.path.basename(program.name) or _DEFAULT)
    asked = "".join(
        _EXPRESSION.format(number=number, quoted=json.dumps(each), expression=each.strip().removeprefix("&"))
        for number, each in enumerate(program.expressions)
    )
    return f'#line 1 {name}\n{program.text}\n#line 1 "name expressions"\n{asked}'


def _file(name: str) -> str:
    """Return the file's name, which a sanitizer's reports have."""
    plain = re.sub(r"[^\w.+-]", "_", os.path.basename(name)).lstrip("-") or _DEFAULT
    return plain if plain.endswith(".cu") else f"{plain}.cu"


def _write(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, errors="surrogateescape")


def toolkit_name() -> str:
    """Return the name of the toolkit that images are for."""
    return toolkit.assemble().home.name


def _place(program: Program, options: Sequence[str]) -> pathlib.Path:
    identity = [
        toolkit_name(),
        dataclasses.astuple(program),
        *options,
        settings.sanitizers(),
        os.environ.get("CXX"),
        os.environ.get(variables.DEVICE_PROFILE),
    ]
    digest = hashlib.sha256(repr(identity).encode()).hexdigest()
    return private.folders("modules")[0] / digest[:2] / digest


def _find(place: pathlib.Path) -> Image | None:
    """Return what the cache has, unless a header has changed since."""
    try:
        kept = json.loads(private.read(place))
        needed: dict[str, list[int]] = kept["needed"]
        return (
            Image.parse(kept["image"], toolkit_name())
            if {k: tuple(v) for k, v in needed.items()} == _states(needed)
            else None
        )
    except (OSError, ValueError, KeyError, ImageError):
        return None


def _keep(place: pathlib.Path, image: Image, needed: Mapping[str, tuple[int, int]]) -> None:
    private.prepare(place.parent)
    private.write(place, json.dumps({"needed": needed, "image": image.text(toolkit_name())}).encode())


def _listed(rule: pathlib.Path, own: set[str]) -> list[str]:
    """Return the headers in a rule for make, without those of some folders."""
    words = re.split(r"(?<!\\)\s+", rule.read_text().partition(": ")[2].replace("\\\n", " "))
    files = [word.replace("\\ ", " ") for word in words if word]
    return [file for file in files if not file.startswith(tuple(own))]


def _states(files: Sequence[str] | Mapping[str, object]) -> dict[str, tuple[int, int]]:
    found = {file: os.stat(file) for file in files}
    return {file: (status.st_mtime_ns, status.st_size) for file, status in found.items()}
