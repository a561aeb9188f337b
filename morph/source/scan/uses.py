"""The results of a scan: uses of CUDA."""

from __future__ import annotations

import ast
import enum
from typing import NamedTuple

from morph.source.module import Place


class Kind(enum.Enum):
    """The kind of a use of CUDA; its value is the text in JSON."""

    NAME = "a name of torch's"
    PROBE = "a name of torch's that need not exist"
    PACKAGE = "a name of a served package"
    DEVICE = "a device as text"
    COLLECTIVE = "a process group's backend as text"
    METHOD = "a method or attribute of tensors and modules"
    COMPARISON = "a comparison with a text of CUDA's"
    VARIABLE = "an environment variable"
    LOOK = "what a person must look at"
    NOTE = "what works, though not everywhere as on CUDA"


class Use(NamedTuple):
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
