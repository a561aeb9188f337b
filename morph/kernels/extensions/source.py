"""A preprocessed C++ source: its code, and the file and line of each place in it."""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterator

CLOSING = {"(": ")", "[": "]", "{": "}"}
LITERAL = re.compile(
    r'R"([^(\s"]*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<![0-9A-Fa-f])\'(?:[^\'\\\n]|\\.)+\'|^#[^\n]*$',
    re.DOTALL | re.MULTILINE,
)
_MARKER = re.compile(r'^# (\d+) "((?:[^"\\]|\\.)*)"[ \d]*$', re.MULTILINE)
LEFT_OUT = "#pragma morph"
_TAKEN = re.compile(r'"(\d+)"')
_NOT_NEWLINE = re.compile(r"[^\n]")
# headers without kernels, which are most of a source
_HOSTS = re.compile(
    r"^/usr/|/torch/include/(?!.*\.cuh$)|/pybind11/|/include/python3"
    r"|/extensions/include/|/cuda-[0-9a-f]{20}/include/"  # morph's own, and the toolkit's links to them
)
_NOT_THE_USERS = re.compile(rf"{_HOSTS.pattern}|/torch/include/|^<")


class SourceError(Exception):
    """A source that the software device cannot run, or that is not well-formed.

    Args:
        file: The file's name.
        line: The number of the line in it.
        problem: What is wrong, and what to do.
    """

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(f"{file}:{line}: error: {problem}")


class Source:
    """The output of a preprocessor, without the headers that hold no kernel: most of it.

    Attributes:
        text: What may hold kernels; a line ``#pragma morph 7`` is in the place of other headers.
        code: As long as the text; literals and line markers are blank.
        headers: What was left out, by number.
    """

    def __init__(self, text: str) -> None:
        found = list(_MARKER.finditer(text))
        ends = [*(each.start() for each in found[1:]), *([len(text)] if found else [])]
        self.headers: list[str] = []
        parts = [text[: found[0].start()] if found else text]
        left_out: list[str] = []
        for marker, end in zip(found, ends, strict=True):
            region = text[marker.start() : end]
            if _HOSTS.search(marker[2]):
                left_out.append(region)
                continue
            parts += [self._leave_out(left_out), region]
        self.text = "".join([*parts, self._leave_out(left_out)])
        self.code = LITERAL.sub(_blank, self.text)
        markers = list(_MARKER.finditer(self.text))
        self._starts = [each.end() + 1 for each in markers]
        self._markers = [(int(each[1]), each[2]) for each in markers]

    def _leave_out(self, regions: list[str]) -> str:
        if not regions:
            return ""
        self.headers.append("".join(regions))
        regions.clear()
        return f"{LEFT_OUT} {len(self.headers) - 1}\n"

    def find(self, pattern: str) -> Iterator[re.Match[str]]:
        """Yield the matches of a pattern in the code."""
        return re.finditer(pattern, self.code)

    def line(self, place: int) -> tuple[str, int]:
        """Return the file and the line of a place in the text."""
        number = bisect.bisect_right(self._starts, place) - 1
        if number < 0:
            return "<source>", 1
        line, file = self._markers[number]
        return file, line + self.text.count("\n", self._starts[number], place)

    def error(self, place: int, problem: str) -> SourceError:
        """Return the error of a place in the text."""
        return SourceError(*self.line(place), problem)

    def is_the_users(self, place: int) -> bool:
        """Return whether a place is from no header of the system, of torch, or of morph."""
        number = bisect.bisect_right(self._starts, place) - 1
        return number < 0 or _NOT_THE_USERS.search(self._markers[number][1]) is None

    def close(self, place: int) -> int:
        """Return where the bracket at a place closes."""
        depth = 0
        for match in re.compile(r"[()\[\]{}]").finditer(self.code, place):
            depth += 1 if match[0] in CLOSING else -1
            if not depth:
                return match.start()
        raise self.error(place, "a bracket that does not close")

    def enclosing(self, place: int) -> int:
        """Return where the innermost brace around a place opens, or -1 outside of any."""
        depth = 0
        while True:
            opening, closing = self.code.rfind("{", 0, place), self.code.rfind("}", 0, place)
            if opening < 0 or (opening > closing and not depth):
                return opening
            depth += 1 if closing > opening else -1
            place = max(opening, closing)

    def head(self, place: int, length: int = 4096) -> str:
        """Return the code before a place, without spaces at its end, as far as it may matter."""
        return self.code[max(0, place - length) : place].rstrip()


class Edits:
    """Replacements in a source; one within another is left out."""

    def __init__(self, source: Source) -> None:
        self._text = source.text
        self._edits: list[tuple[int, int, str]] = []

    def replace(self, start: int, end: int, by: str) -> None:
        """Replace the text between two places; lines are kept apart as they were."""
        self._edits.append((start, end, by + "\n" * self._text.count("\n", start, end)))

    def result(self) -> str:
        """Return the text with all replacements."""
        parts, last = [], 0
        for start, end, by in sorted(self._edits):
            if start < last:
                continue
            parts += [self._text[last:start], by]
            last = end
        return "".join([*parts, self._text[last:]])


def outside_literals(text: str, change: Callable[[str], str]) -> str:
    """Return a text whose code is changed; its literals and lines of the preprocessor stay.

    Args:
        text: The text.
        change: Returns the code anew; it is given ``"0"``, ``"1"``, ... in the place of what stays.
    """
    literals: list[str] = []

    def take(match: re.Match[str]) -> str:
        literals.append(match[0])
        return f'"{len(literals) - 1}"'

    return _TAKEN.sub(lambda match: literals[int(match[1])], change(LITERAL.sub(take, text)))


def _blank(match: re.Match[str]) -> str:
    return _NOT_NEWLINE.sub(" ", match[0])
