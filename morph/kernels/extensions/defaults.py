"""Default arguments of a function template that only its definition has, after a declaration of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from morph.kernels.extensions.source import Edits, Source

_TEMPLATE = r"\btemplate\s*<(?P<parameters>[^;{}()]*)>[^;{}=]*?"
_DEFINED = _TEMPLATE + r"\b(?P<name>\w+)\s*\((?P<taken>[^(){};]*=[^(){};]*)\)\s*\{"
_DECLARED = _TEMPLATE + r"\b%s\s*\((?P<taken>[^(){};=]*)\)\s*;"


def translate(source: Source, edits: Edits) -> None:
    """Move the default arguments of function templates from their definitions to their declarations.

    nvcc takes them in either, where g++ does not know those of a later one.
    """
    for defined in source.find(_DEFINED):
        pattern = re.compile(_DECLARED % defined["name"])
        for declared in pattern.finditer(source.code, 0, defined.start()):
            spaces = (tuple(_spaces(source, each.start())) for each in (defined, declared))
            if _names(defined) == _names(declared) and len(set(spaces)) == 1:
                _move(defined, declared, edits)
                break


def _names(function: re.Match[str]) -> list[str]:
    parameters = re.sub(r"=[^,]*", "", function["parameters"])
    return [re.split(r"\W+", each.strip())[-1] for each in f"{parameters},{_bare(function)}".split(",")]


def _bare(function: re.Match[str]) -> str:
    return re.sub(r"=[^,]*", "", function["taken"])


def _spaces(source: Source, place: int) -> Iterator[str]:
    """Yield the heads of the namespaces around a place."""
    while (place := source.enclosing(place)) >= 0:
        yield re.split(r"[;{}\n]", source.head(place))[-1].strip()


def _move(defined: re.Match[str], declared: re.Match[str], edits: Edits) -> None:
    place = declared.start("taken")
    for mine, its in zip(defined["taken"].split(","), declared["taken"].split(","), strict=True):
        place += len(its)
        if default := re.search(r"=.*", mine, re.DOTALL):
            edits.replace(place, place, " " + " ".join(default[0].split()))
        place += 1
    edits.replace(*defined.span("taken"), _bare(defined))
