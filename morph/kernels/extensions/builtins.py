"""The built-in variables: ``threadIdx`` and its kin, unless a variable of the program has the name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

PLACES = {"threadIdx": "thread", "blockIdx": "block", "blockDim": "block_size", "gridDim": "grid_size"}
_NAME = re.compile(rf"(?<![\w.])(?<!->)(?<!\w::)(?:{'|'.join(PLACES)})(?!\w)")
_TYPE = re.compile(r"(?P<word>\w+|>)\s*[&*]?\s*$")
_KEYWORDS = {"return", "case", "else", "do", "in", "throw", "sizeof", "new", "delete", "goto", "co_return"}
_LIST = re.compile(
    r"\s*(?:const\s+|static\s+|constexpr\s+)*(?:dim3|uint3|int3|int|unsigned|auto)\b[^;{}]*,\s*$"
)


def translate(code: str) -> str:
    """Return a source whose built-in variables are morph's.

    Args:
        code: The source; its literals are replaced.
    """
    found = sorted(_found(code), key=lambda match: match.start())
    own = [
        (match[0], match.start(), _end_of_scope(code, match.end())) for match in _declarations(code, found)
    ]
    parts, last = [], 0
    for match in found:
        if not any(name == match[0] and start <= match.start() < end for name, start, end in own):
            # with a space before: `%:` is a `#` to C++
            parts += [code[last : match.start()], f" ::morph_cuda::here().{PLACES[match[0]]}"]
            last = match.end()
    return "".join([*parts, code[last:]])


def _found(code: str) -> Iterator[re.Match[str]]:
    """Yield where the names stand; an expression for all of them takes half a second for torch's headers."""
    for name in PLACES:
        place = code.find(name)
        while place >= 0:
            if match := _NAME.match(code, place):
                yield match
            place = code.find(name, place + 1)


def _declarations(code: str, found: Iterable[re.Match[str]]) -> Iterator[re.Match[str]]:
    """Yield where a variable or a parameter gets such a name: after a type, and before no member."""
    for match in found:
        rest = code[match.end() : match.end() + 80].lstrip()
        before = code[max(0, match.start() - 400) : match.start()]
        type = _TYPE.search(before)
        follows_type = type is not None and type["word"] not in _KEYWORDS and not type["word"].isdigit()
        if rest[:1] in tuple(";=({,)[") and (follows_type or _LIST.match(re.split(r"[;{}]", before)[-1])):
            yield match


def _end_of_scope(code: str, start: int) -> int:
    """Return where the scope of a name ends that is declared before a place."""
    in_parentheses, depth = 0, 0
    for match in re.compile(r"[(){};]").finditer(code, start):
        bracket = match[0]
        if bracket in "()" and not depth:
            in_parentheses += 1 if bracket == "(" else -1
        elif bracket == ";" and not depth and in_parentheses < 0:
            return match.end()
        elif bracket == "{":
            depth += 1
        elif bracket == "}":
            depth -= 1
            if depth < 0 or (not depth and in_parentheses < 0):
                return match.end()
    return len(code)
