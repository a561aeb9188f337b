"""Writes the type stub of the served pynvml, whose names are made when it is imported.

The build (``setup.py``) and ``python -m tests.type_check`` run this file by its path, so that it imports
neither morph nor torch.
"""

from __future__ import annotations

import ctypes
import json
import pathlib
from collections.abc import Iterator, Mapping

PYNVML = pathlib.Path("packages", "pynvml")
NAME = "__init__.pyi"
ERROR = "NVMLError"
WRITTEN = (ERROR, "NVMLLibraryMismatchError")
TYPES = {int: "int", str: "str"}
BEGINNING = '''\
"""NVIDIA's management library, for type checkers."""

from ctypes import *
from typing import Any

class _Type(Structure):
    def __init__(self, *args: Any, **fields: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...

class NVMLError(Exception):
    value: int
    def __init__(self, value: int = ...) -> None: ...

class NVMLLibraryMismatchError(Exception): ...
'''


def write(aliases: pathlib.Path, target: pathlib.Path) -> None:
    """Write the stub.

    Args:
        aliases: The folder of aliases with the recorded names.
        target: The folder of aliases in which the stub belongs.
    """
    (target / PYNVML / NAME).write_text(_stub(aliases / PYNVML), encoding="utf-8")


def _stub(folder: pathlib.Path) -> str:
    names = json.loads((folder / "surface.json").read_text(encoding="utf-8"))["names"]["pynvml"]
    values = json.loads((folder / "interface" / "constants.json").read_text(encoding="utf-8"))
    types = {name: TYPES.get(type(value), "Any") for name, value in values.items()}
    lines = [line for name, kind in names.items() for line in _line(name, kind, types)]
    return "\n".join([BEGINNING, *lines, ""])


def _line(name: str, kind: str, types: Mapping[str, str]) -> Iterator[str]:
    if name in (*vars(ctypes), *WRITTEN) or kind == "module":
        return
    if kind.startswith("("):
        yield f"def {name}({', '.join(_parameters(kind))}) -> Any: ..."
    elif kind == "class":
        yield f"class {name}({ERROR if name.startswith(ERROR) else '_Type'}): ..."
    else:
        yield f"{name}: {types.get(name, 'Any')}"


def _parameters(signature: str) -> Iterator[str]:
    """Yield the parameters of a recorded signature, which gives their names and which ones are optional."""
    for parameter in filter(None, signature[1:-1].split(", ")):
        name, has_default, _ = parameter.partition("=")
        yield f"{name}: Any{' = ...' if has_default else ''}"
