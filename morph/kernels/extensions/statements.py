"""The statements of a function's body, and what they declare."""

from __future__ import annotations

import re
from collections.abc import Iterator

from morph.kernels.extensions.source import Source

_SPACES = re.compile(r"\s*")
CONTROL = re.compile(r"(?:if(?:\s+constexpr)?|for|while|switch)\s*(?=\()")
_NO_DECLARATION = re.compile(
    r"(?:return|delete|throw|goto|break|continue|if|for|while|do|switch|case|default|else|new|sizeof|asm)\b"
)
_WORDS = (
    "const|constexpr|volatile|static|register|typename|struct|class|union|enum|unsigned|signed|long|short|int"
    "|char|float|double|bool|auto"
)
_DECLARED = re.compile(
    rf"(?P<type>(?:(?:{_WORDS})\b\s*)*"
    r"(?:[A-Za-z_]\w*(?:\s*::\s*\w+)*(?:\s*<[^;(){}=]*>)?(?:\s*::\s*\w+)*)?"
    r"(?:\s*\bconst\b)?)(?P<kind>[\s*&]*(?:(?:const|__restrict__|__restrict)\b\s*)*)"
    r"\b(?P<name>[A-Za-z_]\w*)\s*(?=[=;,\[({])"
)
# declarations in other forms: `auto [a, b]`, `decltype(x) y`, `A<(1)> a`, `int (*f)(int)`, `int (x)`
_OTHERS = re.compile(
    rf"(?:{_WORDS}|decltype|alignas|__attribute__)\b"
    r"|\[\[|[\w:\s]+<[^;]*(?<!-)>\s*[*&]*\s*\w+\s*[=;{(\[,]"
    r"|[\w:]+\s*\(\s*(?:[*&]\s*\w+\s*\)\s*[\[(]|\w+\s*\)\s*=)"
)
_ANOTHER = re.compile(r"[\s*&]*(?P<name>[A-Za-z_]\w*)\s*(?=[=\[({]|$)")


class NotSplit(Exception):
    """A kernel that stays as it is; the text says why."""


class Statements:
    """The statements of a source's functions.

    Args:
        source: The source.
    """

    def __init__(self, source: Source) -> None:
        self._code = source.code
        self._close = source.close

    def between(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield where each statement between two places starts and ends."""
        place = self.after_spaces(start)
        while place < end:
            after = self.end_of(place)
            yield place, after
            place = self.after_spaces(after)

    def after_spaces(self, place: int) -> int:
        """Return where the code at a place goes on."""
        found = _SPACES.match(self._code, place)
        return found.end() if found else place

    def end_of(self, place: int) -> int:
        """Return where the statement at a place ends.

        Raises:
            NotSplit: If it does not.
        """
        if self._code[place] == "{":
            return self._close(place) + 1
        head = CONTROL.match(self._code, place)
        if head:
            end = self.end_of(self.after_spaces(self._close(head.end()) + 1))
            other = re.compile(r"\s*else\b").match(self._code, end)
            if head[0].startswith("if") and other:
                end = self.end_of(self.after_spaces(other.end()))
            return end
        if re.compile(r"do\b").match(self._code, place):
            place = self.end_of(self.after_spaces(place + 2))
        for match in re.compile(r"[({\[;]").finditer(self._code, place):
            if match.start() < place:
                continue
            if match[0] == ";":
                return match.end()
            place = self._close(match.start())
        raise NotSplit("a statement that does not end")

    def declared(self, start: int, end: int) -> list[str]:
        """Return the names that a statement declares.

        Raises:
            NotSplit: If it is not understood.
        """
        match = self.declaration(start, end)
        if not match:
            if not _NO_DECLARATION.match(self._code, start, end) and _OTHERS.match(self._code, start, end):
                raise NotSplit("a declaration that is not understood")
            return []
        each_of = list(parts(self._code[match.start("name") : end - 1]))
        found = [_ANOTHER.match(part) for part in each_of]
        if not all(found):
            raise NotSplit("a declaration that is not understood")
        return [each["name"] for each in found if each]

    def declaration(self, start: int, end: int) -> re.Match[str] | None:
        """Return the match of a declaration: its ``type``, ``kind`` (``*``, ``&``) and first ``name``."""
        if _NO_DECLARATION.match(self._code, start, end):
            return None
        match = _DECLARED.match(self._code, start, end)
        return match if match and match["type"].strip() else None


def parts(code: str) -> Iterator[str]:
    """Yield what is between the commas of a list."""
    depth, start = 0, 0
    for match in re.finditer(r"[()\[\]{},]", code):
        depth += (match[0] in "([{") - (match[0] in ")]}")
        if match[0] == "," and not depth:
            yield code[start : match.start()]
            start = match.end()
    yield code[start:]
