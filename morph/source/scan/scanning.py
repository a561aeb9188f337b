"""Scans files for uses of CUDA."""

from __future__ import annotations

import ast
import functools
import pathlib
import re
from collections.abc import Callable, Iterable, Sequence

from morph.source.module import Places, decoded, parsed
from morph.source.resolution import Resolution
from morph.source.scan.attention import attention, differences
from morph.source.scan.files import CPP, CUDA, read
from morph.source.scan.ignoring import is_ignored
from morph.source.scan.names import methods, names, package_names
from morph.source.scan.notebooks import NOTEBOOK, source_of
from morph.source.scan.report import UNPARSED, Finding, Report, Unparsed
from morph.source.scan.rules import mentions, rules
from morph.source.scan.sources import mentions_cuda, uses_of_source
from morph.source.scan.statuses import answers
from morph.source.scan.texts import texts
from morph.source.scan.uses import Found, Use
from morph.source.scan.variables import variables

Finder = Callable[[Resolution], Iterable[Found]]
OF_CUDA: tuple[Finder, ...] = (names, texts, methods, variables, attention)
EVERYTHING = (*OF_CUDA, differences)
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, OSError)


def scan(
    files: Sequence[pathlib.Path],
    backends: Iterable[str],
    progress: Callable[[str], None] = lambda text: None,
    ignored: Sequence[str] = (),
) -> Report:
    """Scan ``files`` for uses of CUDA.

    Args:
        files: The files to read.
        backends: The backends to answer for.
        progress: Called with the file that is about to be read.
        ignored: The rules, and patterns of names, whose findings are left out.
    """
    names, findings, problems = tuple(backends), [], []
    for number, file in enumerate(files, 1):
        progress(f"{number} of {len(files)}, {file}")
        try:
            uses = uses_of_file(file)
        except UNREADABLE as error:
            problems.append(unparsed(file, error))
            continue
        findings += [Finding(file, use, answers(use, names)) for use in uses]
    kept = [each for each in findings if not is_ignored(each, ignored)] if ignored else findings
    told = [] if UNPARSED in ignored else problems
    hidden = len(findings) - len(kept) + len(problems) - len(told)
    return Report(names, len(files), tuple(kept), tuple(told), hidden)


def uses_of_file(file: pathlib.Path) -> list[Use]:
    """Return the uses in a file, in the order of its lines.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: If it is not Python, or nests too deeply.
        OSError: If it cannot be read.
    """
    source = read(file)
    if file.suffix in CPP:
        wanted = file.suffix in CUDA or mentions_cuda(source)
        text = source.decode(errors="replace")
        return uses_of_source(text, file.name, file.suffix in CUDA) if wanted else []
    if file.suffix == NOTEBOOK:
        source = source_of(source)
    tree = parsed(source, str(file))
    return uses_of(Resolution(tree), decoded(source), EVERYTHING) if mentions_any(source) else []


def uses_of(resolution: Resolution, text: str, finders: Sequence[Finder] = OF_CUDA) -> list[Use]:
    """Return the uses in a module whose names are resolved, in the order of its lines.

    Args:
        resolution: The module.
        text: Its source.
        finders: What finds them; those of CUDA's unless given.
    """
    places = Places(text)
    found = (each for finder in finders for each in finder(resolution))
    uses = (Use(places.of(each.node), *each[1:], isinstance(each.node, ast.alias)) for each in found)
    return sorted(dict.fromkeys(uses), key=lambda use: (use.place, use.kind.value, use.name))


def mentions_any(source: bytes) -> bool:
    """Return whether a file can have anything to find; most have not, and are only parsed."""
    text = source.lower()
    return any(word in text for word in _mentions()) or any(
        name in text and re.search(rb"[\s\"']" + name, text) for name in _packages()
    )


@functools.cache
def _mentions() -> tuple[bytes, ...]:
    return tuple(text.encode() for text in mentions())


@functools.cache
def _packages() -> tuple[bytes, ...]:
    names = {*package_names(), *(each.partition(".")[0] for each in rules()["nvidia-package"].packages)}
    return tuple(name.lower().encode() for name in sorted(names))


def unparsed(file: pathlib.Path, error: Exception) -> Unparsed:
    """Return the record of a file that could not be parsed because of ``error``."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    return Unparsed(file, line or 1, _reason(error).partition("\n")[0] or type(error).__name__)


def _reason(error: Exception) -> str:
    match error:
        case SyntaxError():
            return error.msg
        case MemoryError() | RecursionError():
            return "nests too deeply to be read"
        case OSError():
            return f"cannot be read: {error.strerror}"
    return str(error)
