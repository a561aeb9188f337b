"""A module's text while it is edited."""

from __future__ import annotations

import ast
import bisect

from morph.source.module import Places


class Draft:
    """A text with edits, each of which takes the place of those inside it.

    Args:
        text: The text of a module.

    Attributes:
        text: The text as it was.
        places: The places of the tree's nodes in it.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.places = Places(text)
        self._edits: list[tuple[int, int, str]] = []

    def replace(self, place: ast.AST | tuple[int, int], new: str) -> None:
        """Put a text in the place of a node, or of what is from one index to another."""
        start, end = place if isinstance(place, tuple) else self.places.span(place)
        first, last = self._inside(start, end)
        self._edits[first:last] = [(start, end, new)]

    def insert(self, index: int, new: str) -> None:
        """Insert a text before what is at an index, behind what was inserted there before."""
        self._edits.insert(
            bisect.bisect_right(self._edits, (index, index, "\U0010ffff")), (index, index, new)
        )

    def code(self, place: ast.AST | tuple[int, int]) -> str:
        """Return what a node, or what is from one index to another, has become."""
        start, end = place if isinstance(place, tuple) else self.places.span(place)
        first, last = self._inside(start, end)
        parts = []
        for begins, ends, new in self._edits[first:last]:
            parts += [self.text[start:begins], new]
            start = ends
        return "".join([*parts, self.text[start:end]])

    def is_edited(self, node: ast.AST) -> bool:
        """Return whether anything of a node has been edited."""
        first, last = self._inside(*self.places.span(node))
        return first < last

    def __str__(self) -> str:
        """Return the edited text."""
        return self.code((0, len(self.text) + 1))

    def line_of(self, index: int) -> str:
        """Return what is before an index in its line."""
        return self.text[self.text.rfind("\n", 0, index) + 1 : index]

    def _inside(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the edits inside a part of the text, without insertions at its end."""
        return bisect.bisect_left(self._edits, (start,)), bisect.bisect_left(self._edits, (end,))
