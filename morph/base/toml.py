"""TOML's reader: Python's own, or on Python 3.10 tomli, which Python's own was made of."""

import pathlib
import sys
from collections.abc import Iterable, Iterator, Mapping
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


def beside(module: str, name: str) -> dict[str, Any]:
    """Return the table that lies beside a module of morph's.

    Args:
        module: The module's ``__file__``.
        name: The name of the table's file.
    """
    return loads(pathlib.Path(module).with_name(name).read_text(encoding="utf-8"))


def expanded(rows: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a table; one whose key has braces is a row for each word in them, {} in its texts.

    >>> dict(expanded({"clock.{gr,sm}": {"alias": "clocks.{}"}}))
    {'clock.gr': {'alias': 'clocks.gr'}, 'clock.sm': {'alias': 'clocks.sm'}}
    """
    for key, row in rows.items():
        before, brace, rest = key.partition("{")
        words, _, after = rest.partition("}")
        for word in words.split(","):
            texts = {k: v.replace("{}", word) for k, v in row.items() if brace and isinstance(v, str)}
            yield before + word + after, {**row, **texts}


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
