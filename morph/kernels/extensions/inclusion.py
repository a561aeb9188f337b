"""The files of a program that its C++ sources are made of: they, and what they include."""

from __future__ import annotations

import itertools
import os
import pathlib
import re
from collections.abc import Iterator, Sequence

# a header may also be named in a macro: #define HEADER "own.cuh"
_NAMED = re.compile(
    r"//[^\n]*|/\*.*?\*/|\#[ \t]*include[ \t]*(?P<open>[<\"])(?P<included>[^>\"\n]+)[>\"]"
    r'|"(?P<literal>[^"\n]+\.(?:cuh?|cpp|cc|cxx|h|hpp|hxx|inl))"',
    re.DOTALL,
)
_INSTALLED = {"site-packages", "dist-packages"}


def files_of(sources: Sequence[str], includes: Sequence[str]) -> list[pathlib.Path]:
    """Return sources and what they include, without the headers of the system and of installed packages.

    Args:
        sources: Absolute paths.
        includes: The folders in which the compiler looks for headers, as absolute paths.

    Returns:
        Files below the current folder or below a source's own folder, sorted.
    """
    own = [pathlib.Path(source).parent for source in sources]
    current = pathlib.Path.cwd()
    if current != pathlib.Path(current.anchor):
        own.append(current)
    pending, found = [pathlib.Path(source) for source in sources], set()
    while pending:
        file = pending.pop()
        if file not in found:
            found.add(file)
            pending += [each for each in _included(file, includes) if _is_own(each, own)]
    return sorted(found)


def _is_own(file: pathlib.Path, folders: Sequence[pathlib.Path]) -> bool:
    return any(
        file.is_relative_to(each) and not _INSTALLED & {*file.relative_to(each).parts} for each in folders
    )


def _included(file: pathlib.Path, includes: Sequence[str]) -> Iterator[pathlib.Path]:
    for match in _NAMED.finditer(file.read_text(errors="surrogateescape")):
        name = match["included"] or match["literal"]
        beside = [str(file.parent)] if match["open"] != "<" else []
        places = [os.path.normpath(os.path.join(folder, name)) for folder in (*beside, *includes) if name]
        yield from itertools.islice((pathlib.Path(each) for each in places if os.path.isfile(each)), 1)
