"""Writes the type stub of the served flash_attn: `python -m tests.flash_attn.stub`."""

from __future__ import annotations

import ast
import textwrap

from morph.tables import package
from tests.platforms import REPOSITORY

FOLDER = REPOSITORY / "aliases" / "packages" / "flash_attn"
FILE = FOLDER / "__init__.pyi"
BEGINNING = '''\
"""flash_attn's functions, for type checkers: written by `python -m tests.flash_attn.stub`."""
# fmt: off

from typing import Any

from torch import Tensor

__version__: str
'''


def stub() -> str:
    """Returns the stub of the functions in `flash_attn`."""
    names = package.load("flash_attn").names.items()
    functions = [
        (name, kind)
        for name, kind in names
        if name.rpartition(".")[0] == "flash_attn" and kind.startswith("(")
    ]
    types = _types()
    lines = [_declared(name.rpartition(".")[2], kind, types) for name, kind in functions]
    return "\n".join([BEGINNING, *lines, ""])


def _types() -> dict[str, str]:
    """Returns the annotations as they are spelled in the file that is imported under morph only."""
    (table,) = (
        node.value
        for node in ast.parse((FOLDER / "_morph" / "original.py").read_text()).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_NAMES"
    )
    assert isinstance(table, ast.Dict)
    kinds = [ast.unparse(key).replace("Optional[Tensor]", "Tensor | None") for key in table.keys if key]
    names = [ast.literal_eval(value).split() for value in table.values]
    return {name: kind for kind, own in zip(kinds, names, strict=True) for name in own}


def _declared(name: str, signature: str, types: dict[str, str]) -> str:
    definition = ast.parse(f"def {name}{signature}: ...").body[0]
    assert isinstance(definition, ast.FunctionDef)
    defaults = dict(zip(reversed(definition.args.args), reversed(definition.args.defaults), strict=False))
    for parameter in definition.args.args:
        default = defaults.get(parameter)
        optional = default is not None and ast.unparse(default) == "None"
        kind = types.get(parameter.arg, "Any")
        parameter.annotation = ast.Name(f"{kind} | None" if optional and "None" not in kind else kind)
    definition.returns = ast.Name("Any")
    text = ast.unparse(definition).replace(" -> Any:\n    ...", "")
    lines = textwrap.wrap(text, 98, subsequent_indent="    ", break_long_words=False)
    return "\n".join(lines) + " -> Any: ..."


if __name__ == "__main__":
    FILE.write_text(stub(), encoding="utf-8")
