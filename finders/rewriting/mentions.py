# don't import any costly modules: a start-up file reaches this one
"""A quick test whether source or bytecode can mention CUDA at all; most files do not."""

from __future__ import annotations

import sys

from morph import WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TEXTS = tuple(word.decode() for word in WORDS)


def mentions_cuda(content: Any) -> bool:
    """Return whether the text or bytes of a file, or a syntax tree, can hold a CUDA literal at all."""
    if isinstance(content, str):
        return any(word in content for word in _TEXTS)
    if isinstance(content, bytes | bytearray):
        return any(word in content for word in WORDS)
    return _is_in_tree(content)


def _is_in_tree(tree: Any) -> bool:
    ast = sys.modules.get("ast")  # already imported if there is a tree
    if ast is None or not isinstance(tree, ast.AST):
        return False
    for node in ast.walk(tree):
        text = getattr(node, "value", None) if isinstance(node, ast.Constant) else getattr(node, "attr", None)
        if isinstance(text, str) and any(word in text for word in _TEXTS):
            return True
    return False
