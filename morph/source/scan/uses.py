"""The results of a scan: uses of CUDA."""

from __future__ import annotations

import ast
import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Kind(enum.Enum):
    """The kind of a use of CUDA; its value is the text in JSON."""

    NAME = "a name of torch's"
    PROBE = "a name of torch's that need not exist"
    PACKAGE = "a name of a served package"
    DEVICE = "a device as text"
    COLLECTIVE = "a process group's backend as text"
    METHOD = "a method or attribute of tensors and modules"
    COMPARISON = "a comparison with a text of CUDA's"
    PART = "a text of CUDA's in what is compared or looked into"
    VARIABLE = "an environment variable"
    LOOK = "what a person must look at"
    NOTE = "what works, though not everywhere as on CUDA"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """The place of a use in a file; lines and columns begin at 1, columns count characters."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Use:
    """One use of CUDA in a file.

    Attributes:
        place: The place.
        name: The name for a reader: ``torch.cuda.Stream``, ``.cuda()``, ``"cuda:0"``.
        kind: The kind.
        rule: The rule that requires a person's attention; empty for none.
        is_import: Whether it is in an import statement.
    """

    place: Place
    name: str
    kind: Kind
    rule: str = ""
    is_import: bool = False


class Found(NamedTuple):
    """A use at a node of a tree.

    Attributes:
        node: The node.
        name: As in ``Use``, like the other attributes.
    """

    node: ast.AST
    name: str
    kind: Kind
    rule: str = ""


class Places:
    """Locates the nodes of a file's tree.

    Args:
        lines: The file's lines with their ends.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    def of(self, node: ast.AST) -> Place:
        """Return the place of an expression, a statement, a pattern, or an imported name."""
        assert isinstance(node, ast.expr | ast.stmt | ast.alias | ast.pattern)
        line, end = node.lineno, node.end_lineno or node.lineno
        last = node.col_offset if node.end_col_offset is None else node.end_col_offset
        return Place(line, self._column(line, node.col_offset), end, self._column(end, last))

    def _column(self, line: int, offset: int) -> int:
        """Count characters, where ast counts bytes of UTF-8."""
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        return offset + 1 if text.isascii() else len(text.encode()[:offset].decode(errors="replace")) + 1
