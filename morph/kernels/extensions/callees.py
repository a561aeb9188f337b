"""Functions and types of a source that do what a kernel as loops cannot follow, though they do not wait."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from morph.kernels.extensions.source import Source

_DEFINED = re.compile(
    r"(?P<type>\bauto|[*&]|\w)\s*(?:__\w+__\s*)*\b(?P<name>[A-Za-z_]\w*)\s*"
    r"\((?P<parameters>(?:[^(){};]|\([^(){};]*\))*)\)\s*(?P<const>const\b\s*)?(?:noexcept\s*)?(?:->\s*(?P<after>[^{};()]*))?\{"
)
_REFERENCE = re.compile(r"[\w>]\s*&\s*(?!operator\b)\w+\s*[;={]")
_TYPE = re.compile(r"\b(?:struct|class|union)\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?(\w+)[^(){};]*\Z")
_CONVERSION = re.compile(r"\boperator\s+[\w:\s<>]+\(\s*\)\s*(?:const\b\s*)?\{")


def with_overloads(source: Source) -> Iterator[str]:
    """Yield the functions of which another is called for a constant: what a kernel does not change is one."""
    found = defaultdict(list)
    for match in _DEFINED.finditer(source.code):
        found[match["name"]].append(match)
    for name, each in found.items():
        changing = any(_changes(match["parameters"]) for match in each)
        if len(each) > 1 and (changing or len({match["const"] is None for match in each}) > 1):
            yield name


def with_addresses(source: Source) -> Iterator[str]:
    """Yield what may remember where a variable is: types with references, functions of addresses."""
    for match in _DEFINED.finditer(source.code):
        returned = match["type"] + (match["after"] or "")
        is_given = re.search(r"auto|[*&]", returned) and "&" in match["parameters"]
        if is_given or re.search(r"\*\s*(?:const\s*)?[&*]", match["parameters"]):
            yield match["name"]
    for match in _REFERENCE.finditer(source.code):
        yield from _type_around(source, match.start())
    for match in _CONVERSION.finditer(source.code):
        if re.search(r"[*\[]|->", source.code[match.end() : source.close(match.end() - 1)]):
            yield from _type_around(source, match.start())


def _changes(parameters: str) -> bool:
    return any("&" in each and not re.search(r"\bconst\b", each) for each in parameters.split(","))


def _type_around(source: Source, place: int) -> Iterator[str]:
    brace = source.enclosing(place)
    type_ = _TYPE.search(re.split(r"[;{}]", source.head(brace))[-1]) if brace >= 0 else None
    if type_:
        yield type_[1]
