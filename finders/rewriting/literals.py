"""CUDA's words and the vendors', and the literals that spell them."""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from morph.backends import Backend

FORMAT = 4
"""To be incremented when the same source is rewritten differently: part of the bytecode's cache tag."""


@functools.cache
def _spellings(word: str) -> re.Pattern[str]:
    return re.compile(rf"{word}(:\d*)?|torch\.{word}(\.\w*)?")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of CUDA and a vendor's word for it.

    Attributes:
        cuda: ``"cuda"`` or ``"nccl"``.
        vendor: ``"npu"`` or ``"hccl"``.
    """

    cuda: str
    vendor: str

    def is_cuda(self, node: ast.AST) -> bool:
        """Return whether ``node`` is ``"cuda:0"``, ``"torch.cuda.FloatTensor"``, ``Backend.NCCL``, ..."""
        return _spells(self.cuda, node)

    def is_vendor(self, node: ast.AST) -> bool:
        """Return whether ``node`` is such a literal with the vendor's word."""
        return _spells(self.vendor, node)

    def translated(self, literal: ast.Constant) -> ast.Constant:
        """Return the CUDA ``literal`` in the vendor's spelling."""
        spelling = str(literal.value).replace(self.cuda, self.vendor, 1)
        return ast.copy_location(ast.Constant(spelling), literal)


@dataclass(frozen=True, slots=True)
class Literals:
    """The vendors' words that comparisons with CUDA literals accept.

    Attributes:
        words: CUDA's words, each with the word of a candidate backend.
    """

    words: tuple[Word, ...]

    @classmethod
    def of(cls, *backends: Backend) -> Literals | None:
        """Return the literals of ``backends``, or None if comparisons need no change."""
        rewriting = [backend for backend in backends if backend.table.facts.literals]
        devices = (Word("cuda", backend.device_type) for backend in rewriting)
        collectives = (Word("nccl", backend.collective) for backend in rewriting)
        return cls((*devices, *collectives)) if rewriting else None

    @property
    def tag(self) -> str:
        """The part of a file name that marks bytecode rewritten for these literals; all alphanumeric."""
        vendors = "".join(word.vendor for word in self.words)
        return f"morph{FORMAT}{re.sub('[^A-Za-z0-9]', '', vendors)}"


def _spells(word: str, node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        text = node.value
        return isinstance(text, str) and word in text and _spellings(word).fullmatch(text) is not None
    if isinstance(node, ast.Attribute) and node.attr == word.upper():  # torch.distributed.Backend.NCCL
        owner = node.value
        return getattr(owner, "attr", getattr(owner, "id", "")) == "Backend"
    return False
