"""Value patterns of ``match`` that accept a vendor's word as well as CUDA's."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from morph.finders.rewriting.literals import Word


class Patterns:
    """The value patterns of one syntax tree that should accept the vendors' words."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[ast.Constant, list[Word]]] = {}

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self._found)

    def accept(self, patterns: Iterable[ast.pattern], words: list[Word]) -> None:
        """Make CUDA's words in ``patterns``, at any depth, accept the vendors' ``words``."""
        for pattern in [inner for each in patterns for inner in ast.walk(each)]:
            match pattern:
                case ast.MatchValue(value=ast.Constant() as literal) if words[0].is_cuda(literal):
                    _, known = self._found.get(id(pattern), (literal, []))
                    self._found[id(pattern)] = literal, [*dict.fromkeys([*known, *words])]

    def apply(self, tree: ast.AST) -> None:
        """Replace the patterns found in ``tree``."""
        for node in [*ast.walk(tree)] if self._found else ():
            for field, value in ast.iter_fields(node):
                if isinstance(value, ast.pattern):
                    setattr(node, field, self._alternatives(value))
                elif isinstance(value, list) and field.endswith("patterns"):
                    setattr(node, field, [*map(self._alternatives, value)])

    def _alternatives(self, pattern: ast.pattern) -> ast.pattern:
        if id(pattern) not in self._found:
            return pattern
        literal, words = self._found.pop(id(pattern))
        values = [word.translated(literal) for word in words]
        vendors = [ast.copy_location(ast.MatchValue(value), literal) for value in values]
        return ast.copy_location(ast.MatchOr([pattern, *vendors]), pattern)
