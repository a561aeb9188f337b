"""Modules of kernels that programs compile while they run, as NVIDIA's nvrtc does: text in, an image out.

An image is a text of ours in the place of PTX or of a cubin, with the shared object in it. Its head names the
toolkit that it is for, so that what programs keep of it is compiled anew after an upgrade.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import subprocess
from collections.abc import Mapping, Sequence

from morph.base import native, private
from morph.base.errors import MorphError
from morph.kernels.extensions import loading, nvcc, toolkit
from morph.software import settings

MARK = "// Made for morph's software device, and for no GPU"
_LINKING = ("-shared", "-Xlinker", "-Bsymbolic")  # its names are its own, whatever the process has
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


class ImageError(MorphError):
    """An image that the software device cannot load."""


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


@dataclasses.dataclass(frozen=True)
class Image:
    """A compiled module.

    Attributes:
        names: The lowered names, by their expressions.
        library: The shared object.
    """

    names: Mapping[str, str]
    library: bytes

    def text(self) -> str:
        """Return it as programs get it."""
        names = "".join(f"// name {json.dumps(pair)}\n" for pair in self.names.items())
        digest = hashlib.sha256(self.library).hexdigest()
        head = f"//\n{MARK}\n// toolkit {_toolkit()}\n// object {digest}\n{names}//\n"
        return head + base64.encodebytes(self.library).decode()

    @classmethod
    def parse(cls, text: str) -> Image:
        """Read an image.

        Raises:
            ImageError: If it is none of this morph's, or not whole.
        """
        head, _, body = text.partition("\n//\n")
        lines = head.splitlines()
        facts = dict(re.findall(r"^// (toolkit|object) (\S+)$", "\n".join(lines[:4]), re.MULTILINE))
        if MARK not in lines[1:2] or "object" not in facts:
            raise ImageError("this is no image of a module that morph has compiled")
        if facts.get("toolkit") != _toolkit():
            raise ImageError("another release of morph or torch has compiled this module; compile it again")
        try:
            library = base64.b64decode(body.replace("\n", ""), validate=True)
        except ValueError:
            library = b""
        if hashlib.sha256(library).hexdigest() != facts["object"]:
            raise ImageError("this image of a module is not whole; compile it again")
        names = [json.loads(line[8:]) for line in lines if line.startswith("// name ")]
        return cls(dict(names), library)


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
        words = [*options, f"-I{folder / 'headers'}", nvcc.MODULE, "-include", "morph/modules.h"]
        words += [*_LINKING, "-MD", "-MF", str(listed), "-o", str(built), str(source)]
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


def _toolkit() -> str:
    return toolkit.assemble().home.name


def _place(program: Program, options: Sequence[str]) -> pathlib.Path:
    identity = [
        _toolkit(),
        dataclasses.astuple(program),
        *options,
        settings.sanitizers(),
        os.environ.get("CXX"),
    ]
    digest = hashlib.sha256(repr(identity).encode()).hexdigest()
    return private.folders("modules")[0] / digest[:2] / digest


def _find(place: pathlib.Path) -> Image | None:
    """Return what the cache has, unless a header has changed since."""
    try:
        kept = json.loads(private.read(place))
        needed: dict[str, list[int]] = kept["needed"]
        return (
            Image.parse(kept["image"])
            if {k: tuple(v) for k, v in needed.items()} == _states(needed)
            else None
        )
    except (OSError, ValueError, KeyError, ImageError):
        return None


def _keep(place: pathlib.Path, image: Image, needed: Mapping[str, tuple[int, int]]) -> None:
    private.prepare(place.parent)
    private.write(place, json.dumps({"needed": needed, "image": image.text()}).encode())


def _listed(rule: pathlib.Path, own: set[str]) -> list[str]:
    """Return the headers in a rule for make, without those of some folders."""
    words = re.split(r"(?<!\\)\s+", rule.read_text().partition(": ")[2].replace("\\\n", " "))
    files = [word.replace("\\ ", " ") for word in words if word]
    return [file for file in files if not file.startswith(tuple(own))]


def _states(files: Sequence[str] | Mapping[str, object]) -> dict[str, tuple[int, int]]:
    found = {file: os.stat(file) for file in files}
    return {file: (status.st_mtime_ns, status.st_size) for file, status in found.items()}
