"""The line numbers of the keys of a TOML file, which its reader does not report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from morph.base import toml

_PART = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*\[\[?\s*({_DOTTED})\s*\]")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")


def line_of(lines: Sequence[str], key: tuple[str, ...]) -> int:
    """Return the line number of ``key``, or else that of the nearest table around it.

    >>> line_of(["backend = 'npu'", "[package.sam2]", "view = 1"], ("package", "sam2", "view"))
    3
    """
    depths = [(len(found), number) for number, found in _keys(lines) if key[: len(found)] == found]
    deepest = max((depth for depth, _ in depths), default=0)
    return min((number for depth, number in depths if depth == deepest), default=1)


def line_of_syntax_error(error: toml.TOMLDecodeError, text: str) -> int:
    """Return the number of the line that is not TOML; the last line if ``text`` ends too early."""
    found = re.search(r"line (\d+)", str(error))
    return int(found[1]) if found else len(text.splitlines())


def _keys(lines: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the number of each line that opens a table or sets a key, with the whole dotted key."""
    table: tuple[str, ...] = ()
    for number, line in enumerate(lines, 1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            table = _parts(header[1])
            yield number, table
        elif key:
            yield number, table + _parts(key[1])


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_PART, dotted))
