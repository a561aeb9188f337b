"""The text of a kernel for one of the threads of a loop over them."""

from __future__ import annotations

import re
from collections.abc import Collection

from morph.kernels.extensions import builtins
from morph.kernels.extensions.source import Source

PLACE = "morph_place"
_NAMES = re.compile(rf"(?<![\w.])(?<!->)(?<!\w::)(?:{'|'.join(builtins.PLACES)})(?!\w)")
_FACTOR = r"(?:blockDim\s*\.\s*[xyz]|\w+)(?!\s*[\w.(:\[])"
_PLACE_OF = r"(?P<of>blockIdx|threadIdx)\s*\.\s*(?P<axis>[xyz])"
_FIRST = (
    rf"(?P<first>{_PLACE_OF}\s*\*\s*(?P<factor>{_FACTOR}))",
    rf"(?P<first>(?P<factor>{_FACTOR})\s*\*\s*{_PLACE_OF})",
)
_END_OF_SUM = r"(?!\s*[*/%.\[\w(])"
_SUMS = [
    re.compile(form + _END_OF_SUM)
    for first in _FIRST
    for form in (rf"{first}\s*\+\s*threadIdx\s*\.\s*x\b", rf"threadIdx\s*\.\s*x\s*\+\s*{first}")
]
_BEFORE_SUM = re.compile(r"(?:[=(,;{\[?]|\breturn)\s*$")


class Places:
    """The text of a kernel whose built-in variables are those of a region's thread.

    Args:
        source: Where it is.
        start: The place after the opening brace of its body.
        end: The place of the closing one.
        changed: The parameters that it changes.
    """

    def __init__(self, source: Source, start: int, end: int, changed: Collection[str]) -> None:
        self._text, self._code = source.text, source.code
        self._whole = source.code[start:end]
        self._changed = changed
        self.strides: dict[str, None] = {}  # no sum with a multiple below these may wrap around

    def text(self, start: int, end: int) -> str:
        """Return the text between two places."""
        found = {
            each.start(): (each.end(), f" {PLACE}.{builtins.PLACES[each[0]]}")
            for each in _NAMES.finditer(self._code, start, end)
        }
        for pattern in _SUMS:
            for match in pattern.finditer(self._code, start, end):
                if _BEFORE_SUM.search(
                    self._code, max(0, match.start() - 80), match.start()
                ) and self._is_safe(match):
                    found[match.start()] = (
                        match.end(),
                        f" {PLACE}.along({self.text(*match.span('first'))})",
                    )
        parts, last = [], start
        for place, (after, by) in sorted(found.items()):
            if place >= last:
                parts += [self._text[last:place], by]
                last = after
        return "".join([*parts, self._text[last:end]])

    def is_along_grid(self) -> bool:
        """Return whether a thread's place in a row of the grid's threads is in the text, and asked for."""
        return f"uint64_t({PLACE}.grid_size.x) * ({PLACE}.block_size.x)" in self.strides

    def _is_safe(self, match: re.Match[str]) -> bool:
        """Have the function of the block see to it that a sum does not wrap around; False if it cannot."""
        factor = match["factor"]
        is_own = (
            re.search(rf"[\w>*&]\s+{factor}\s*(?:=|;|,|\[)", self._whole) if factor.isidentifier() else None
        )
        if factor in self._changed or is_own:
            return False
        most = f"{PLACE}.{'grid_size' if match['of'] == 'blockIdx' else 'block_size'}.{match['axis']}"
        factor = re.sub(r"blockDim", f"{PLACE}.block_size", factor)
        self.strides[f"uint64_t({most}) * ({factor})"] = None
        return True
