"""Names of values that are defined once: TTIR uses a name again in regions that lie side by side."""

from __future__ import annotations

import itertools
import re

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
RESULTS = re.compile(r"((?:%[\w$.-]+(?::\d+)?(?:, )?)+) = ")
NAME = re.compile(STRING.pattern + r"|(%[\w$.-]+)( = |:)?")


class Names:
    """Gives each definition a name of its own.

    A name means its last definition: an earlier one with this name is of a region that has ended.
    """

    def __init__(self) -> None:
        self._current: dict[str, str] = {}
        self._used: set[str] = set()

    def unique(self, line: str) -> str:
        """Return a line of TTIR, the next one, with names that are defined once."""
        match = RESULTS.match(line)
        end = match.end(1) if match else 0
        results = NAME.sub(lambda found: self._define(found[1]) + (found[2] or ""), line[:end])
        return results + NAME.sub(self._renamed, line[end:])

    def _renamed(self, found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        if found[2] is None:
            return self._current.get(found[1], found[1])
        return self._define(found[1]) + found[2]

    def _define(self, name: str) -> str:
        own = name
        for number in itertools.count(1):
            if own not in self._used:
                break
            own = f"{name}.{number}"
        self._used.add(own)
        self._current[name] = own
        return own
