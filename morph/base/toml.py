"""TOML's reader: Python's own, or on Python 3.10 tomli, which Python's own was made of."""

import sys
from collections.abc import Iterable
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib as _reader
else:
    import tomli as _reader

TOMLDecodeError = _reader.TOMLDecodeError

MOST_LEVELS = 50
TOO_DEEP = "arrays or tables nest too deeply"


def loads(text: str) -> dict[str, Any]:
    """Return what a text of TOML says.

    Raises:
        TOMLDecodeError: If it is not TOML, or nests too deeply for the reader.
    """
    try:
        return _reader.loads(text)
    except RecursionError:
        raise TOMLDecodeError(TOO_DEEP) from None


def is_deep(document: object) -> bool:
    """Return whether a document nests so deeply that nothing that is recursive should be done with it."""
    level = [document]
    for _ in range(MOST_LEVELS):
        level = [each for value in level for each in _inside(value)]
    return bool(level)


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
