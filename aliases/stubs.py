"""Writes the type stubs of pynvml, flash_attn and apex.optimizers, which are made when they are imported.

The build (``setup.py``) and ``python -m tests.type_check`` run this file by its path, so that it imports
neither morph nor torch.
"""

from __future__ import annotations

import ast
import ctypes
import json
import pathlib
import textwrap
from collections.abc import Iterator, Mapping

PACKAGES = pathlib.Path("packages")
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
    """Write the stubs.

    Args:
        aliases: The folder of aliases with the recorded names.
        target: The folder of aliases in which the stubs belong.
    """
    stubs = {"pynvml": _of_pynvml, "flash_attn": _of_flash_attn, "apex/optimizers": _of_optimizers}
    for package, stub in stubs.items():
        (target / PACKAGES / package / NAME).write_text(stub(aliases / PACKAGES), encoding="utf-8")


def _recorded(folder: pathlib.Path, package: str, module: str) -> Mapping[str, str]:
    names: Mapping[str, Mapping[str, str]]
    names = json.loads((folder / package / "surface.json").read_text(encoding="utf-8"))["names"]
    return names[module]


def _of_flash_attn(folder: pathlib.Path) -> str:
    names = _recorded(folder, "flash_attn", "flash_attn")
    types = _annotations(folder / "flash_attn" / "_morph" / "original.py")
    lines = [_declared(name, kind, types) for name, kind in names.items() if kind.startswith("(")]
    return "\n".join(["from typing import Any", "from torch import Tensor", "__version__: str", *lines, ""])


def _of_optimizers(folder: pathlib.Path) -> str:
    types = _annotations(folder / "apex" / "kernels" / "original.py")
    lines = ["from typing import Any", "import torch"]
    for name, kind in _recorded(folder, "apex", "apex.optimizers").items():
        if kind.startswith("("):
            initializer = _declared("__init__", kind.replace("(", "(self, ", 1), types, "None")
            own = textwrap.indent(f"step: Any\n{initializer}", "    ")
            lines.append(f"class {name}(torch.optim.Optimizer):\n{own}")
    return "\n".join([*lines, ""])


def _annotations(file: pathlib.Path) -> dict[str, str]:
    """Return the types of parameters, as they are spelled in a file that only flash_attn imports."""
    nodes = ast.parse(file.read_text(encoding="utf-8")).body
    (table,) = (
        node for node in nodes if isinstance(node, ast.Assign) and ast.unparse(node).startswith("_NAMES")
    )
    assert isinstance(table.value, ast.Dict)
    pairs = zip(table.value.keys, table.value.values, strict=True)
    spelled = [
        (ast.unparse(kind).replace("Optional[Tensor]", "Tensor | None"), own) for kind, own in pairs if kind
    ]
    return {name: kind for kind, own in spelled for name in ast.literal_eval(own).split()}


def _declared(name: str, signature: str, types: Mapping[str, str], result: str = "Any") -> str:
    definition = ast.parse(f"def {name}{signature}: ...").body[0]
    assert isinstance(definition, ast.FunctionDef)
    given = reversed(definition.args.args), reversed([*map(ast.unparse, definition.args.defaults)])
    optional = {each.arg for each, default in zip(*given, strict=False) if default == "None"}
    for parameter in definition.args.args:
        kind = types.get(parameter.arg, "Any")
        parameter.annotation = ast.Name(f"{kind} | None" if parameter.arg in optional else kind)
    definition.args.defaults = [ast.Constant(...) for _ in definition.args.defaults]
    definition.returns = ast.Name(result)
    return ast.unparse(definition)


def _of_pynvml(folder: pathlib.Path) -> str:
    names = _recorded(folder, "pynvml", "pynvml")
    values = json.loads((folder / "pynvml" / "interface" / "constants.json").read_text(encoding="utf-8"))
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
