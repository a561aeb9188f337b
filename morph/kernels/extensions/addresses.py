"""What may hold the address of a variable of a thread, which lies elsewhere after a barrier."""

from __future__ import annotations

import re
from collections.abc import Collection

_IN_BRACKETS = re.compile(r"\[[^\[\]]+\]")
_CALL = re.compile(r"(?:[\w>]|\[\])\s*\([^()]*\)")
_READ = re.compile(r"\*\s*(?:\([^()]*\)\s*)?&\s*\w+|\*\s*reinterpret_cast\s*<[^<>]*>\s*\(\s*&\s*\w+\s*\)")
_ASSIGNMENT = re.compile(
    r"(?P<of>\.\s*|->\s*)?\b(?P<name>[A-Za-z_]\w*)\s*(?:\[[^\[\]]*\]\s*)?=(?!=)(?P<value>[^;]*)"
)
_MEMBER = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\s*\.\s*\w+)+\b(?!\s*[\[(.])")


class Addresses:
    """What a kernel's body does with the addresses of its threads' variables.

    Attributes:
        arrays: The arrays of a thread.
        pointers: The pointers that live across a barrier.
    """

    def __init__(self) -> None:
        self.arrays: set[str] = set()
        self.pointers: set[str] = set()

    def names_array(self, code: str) -> bool:
        """Return whether an expression names an array and not its elements."""
        return any(re.search(rf"(?<!\w){each}\b(?!\s*\[)", code) for each in self.arrays)

    def are_stored(self, code: str, own: Collection[str]) -> bool:
        """Return whether code assigns the address of one of a thread's own variables to what may keep it."""
        for match in _ASSIGNMENT.finditer(code):
            value = _without(_IN_BRACKETS, _READ.sub("0", match["value"]), "[]")
            outside = _without(_CALL, value, "0")
            if _takes(outside, own) or self.names_array(outside):
                return True
            is_pointer = match["name"] in self.pointers
            if (is_pointer or match["of"]) and (_takes(value, own) or self.names_array(value)):
                return True
            if is_pointer and is_given(value, own):
                return True
        return False

    def members(self, code: str) -> set[str]:
        """Return the members of objects that are assigned to pointers: arrays would be addresses."""
        values = [match["value"] for match in _ASSIGNMENT.finditer(code) if match["name"] in self.pointers]
        return {match[0] for value in values for match in _MEMBER.finditer(value)}


def is_given(value: str, own: Collection[str]) -> bool:
    """Return whether an expression gives one of some variables to a function, which may take its address."""
    called = re.search(r"[\w>]\s*\(", _without(_IN_BRACKETS, value, "[]"))
    names = re.findall(r"(?<![\w.])[A-Za-z_]\w*\b(?!\s*\[)", value[called.end() :]) if called else []
    return not set(own).isdisjoint(names)


def _takes(code: str, own: Collection[str]) -> bool:
    return not set(own).isdisjoint(
        re.findall(r"(?:^|[^\w)\]&\s]|\([\w:\s<>,*]*\)|\breturn)\s*&[\s(]*(\w+)", code)
    )


def _without(pattern: re.Pattern[str], code: str, by: str) -> str:
    while (shorter := pattern.sub(by, code)) != code:
        code = shorter
    return code
