"""Jupyter notebooks as modules: the code of their cells, on the lines of their file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

NOTEBOOK = ".ipynb"
_PYTHON_CELLS = ("%%time", "%%timeit", "%%capture", "%%prun")
_SHELL = re.compile(r"(\s*)!+(.*)")
_TIMING = re.compile(r"^(\s*)%(?:time|timeit|prun)\s+(?!-)")
_MAGIC = re.compile(r"(\s*)([%?]|[\w.]+\?+\s*$)")


class NotANotebookError(ValueError):
    """A file with a notebook's name is not a notebook."""

    def __init__(self) -> None:
        super().__init__("is not a notebook of version 4")


def source_of(data: bytes) -> bytes:
    """Return the source of a notebook's code cells as a module of as many lines.

    Each line of code keeps its line number in the file, if that has one line for each, as Jupyter writes it;
    else it gets the next free line. Magics other than timing are left out.

    Args:
        data: The file's bytes.

    Raises:
        NotANotebookError: If it is not a notebook.
    """
    lines: list[str] = []
    for number, line in _numbered(_cells(data)):
        lines += [""] * (number - 1 - len(lines))
        lines.append(line)
    return "\n".join(lines).encode()


def _cells(data: bytes) -> Iterator[list[ast.Constant]]:
    """Yield the texts of each code cell, as nodes with line numbers."""
    try:
        # JSON is Python except for three names, and Python's parser provides the line of each text
        notebook = _fields(ast.parse(data.decode("utf-8").strip(), mode="eval").body)
        cells = notebook["cells"]
    except (SyntaxError, ValueError, KeyError):
        raise NotANotebookError from None
    for cell in map(_fields, cells.elts if isinstance(cells, ast.List) else ()):
        kind, source = cell.get("cell_type"), cell.get("source")
        if isinstance(kind, ast.Constant) and kind.value == "code" and source is not None:
            nodes = source.elts if isinstance(source, ast.List) else [source]
            yield [node for node in nodes if isinstance(node, ast.Constant)]


def _fields(node: ast.expr) -> dict[str, ast.expr]:
    if not isinstance(node, ast.Dict):
        return {}
    pairs = zip(node.keys, node.values, strict=True)
    return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}


def _numbered(cells: Iterator[list[ast.Constant]]) -> Iterator[tuple[int, str]]:
    """Yield the lines of Python in all the cells, each with its line number in the file."""
    for texts in cells:
        lines = [(text.lineno, line) for text in texts for line in str(text.value).splitlines()]
        first = lines[0][1] if lines else ""
        if not first.startswith("%%") or first.startswith(_PYTHON_CELLS):
            yield from ((number, _without_magic(line)) for number, line in lines)


def _without_magic(line: str) -> str:
    """Return a line of IPython as a line of Python with the same uses of CUDA."""
    if shell := _SHELL.fullmatch(line):
        return f'{shell[1]}__import__("os").system({shell[2]!r})'
    line = _TIMING.sub(r"\1", line)
    magic = _MAGIC.match(line)
    return f"{magic[1]}pass" if magic else line
