"""Writes the type stub of the served pynvml: `python -m tests.pynvml.stub`."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping

from tests.platforms import REPOSITORY

FOLDER = REPOSITORY / "aliases" / "packages" / "pynvml"
FILE = FOLDER / "__init__.pyi"
ERROR = "NVMLError"
WRITTEN = (ERROR, "NVMLLibraryMismatchError")
TYPES = {int: "int", str: "str"}
BEGINNING = '''\
"""NVIDIA's management library, for type checkers: written by `python -m tests.pynvml.stub`."""
# ruff: noqa: F403, F405

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


def stub() -> str:
    """Returns the stub of all names that are recorded in `surface.json`."""
    names = json.loads((FOLDER / "surface.json").read_text())["names"]["pynvml"]
    values = json.loads((FOLDER / "interface" / "constants.json").read_text())
    types = {name: TYPES.get(type(value), "Any") for name, value in values.items()}
    lines = [line for name, kind in names.items() for line in _line(name, kind, types)]
    return _formatted("\n".join([BEGINNING, *lines, ""]))


def _formatted(text: str) -> str:
    ruff = [
        "ruff",
        "format",
        "--config",
        str(REPOSITORY / "pyproject.toml"),
        "--stdin-filename",
        FILE.name,
        "-",
    ]
    return subprocess.run(
        [sys.executable, "-m", *ruff], input=text, capture_output=True, text=True, check=True
    ).stdout


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
    """Yields the parameters of a recorded signature, which gives their names and which ones are optional."""
    for parameter in filter(None, signature[1:-1].split(", ")):
        name, has_default, _ = parameter.partition("=")
        yield f"{name}: Any{' = ...' if has_default else ''}"


if __name__ == "__main__":
    FILE.write_text(stub())
