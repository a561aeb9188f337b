"""Casts to integers, which saturate on a GPU: C++ leaves a floating-point number out of range undefined.

Each is written as a call that converts as PTX's ``cvt`` does (PTX ISA, "Data Movement and Conversion
Instructions: cvt"). What a program leaves to an implicit conversion, ``int n = 1e10f``, stays the compiler's.
"""

from __future__ import annotations

import re

from morph.kernels.extensions.source import Edits, Source

CONVERTED = " ::morph_cuda::converted"  # `%:` without a space is a `#` to C++
_WORD = r"(?:unsigned|signed|int|long|short|char)"
_NAMES = r"(?:std\s*::\s*)?(?:u?int(?:8|16|32|64)_t|size_t|ptrdiff_t)|u(?:int|long|short|char)"
_INTEGER = rf"(?:{_WORD}(?:\s+{_WORD})*|{_NAMES})"
_QUALIFIERS = r"(?:const|volatile|noexcept|override|final|throw|mutable|requires|__attribute__)\b"
_FORMS = {
    "static_cast": rf"\bstatic_cast\s*<\s*(?P<type>{_INTEGER})\s*>\s*(?=\()",
    "prefix": rf"\(\s*(?P<type>{_INTEGER})\s*\)(?=\s*(?!{_QUALIFIERS})[\w(:+\-*&!~])",
    "call": rf"(?<![\w:.])(?P<type>{_INTEGER})\s*(?=\(\s*[^)\s])",
}
_OPERATOR = re.compile(r"(?:[=?+\-*/%&|^!~>]|\b(?:return|case))$")
_OPENING = re.compile(r"[(,\[{;:<]$|\b(?:else|do)$")  # a cast may follow, or the type of a parameter
_NO_EXPRESSION = re.compile(r"(?:\boperator\s*\S+|\busing\s+\w+\s*=|->)$")
_PREFIX = re.compile(
    rf"\s*(?:\+\+|--|[+\-*&!~]|\(\s*(?:const\s+)?(?:float|double|bool|{_INTEGER})\s*\**\s*\))"
)
_NAME_OR_NUMBER = re.compile(r"\s*(?:::\s*)?(?:\.?\d(?:[\w.']|(?<=[eEpP])[+-])*|[A-Za-z_]\w*)")
_MEMBER = re.compile(r"\s*(?:->|\.|::)\s*(?:template\s+)?\w+|\s*(?:\+\+|--)")
_ARGUMENTS = re.compile(r"\s*<[\w\s:,*&<>]*?>\s*(?=\(|::)")


def translate(source: Source, edits: Edits) -> None:
    """Write the casts to integers as calls.

    Args:
        source: The source.
        edits: Where the replacements go.
    """
    for form, pattern in _FORMS.items():
        for match in source.find(pattern):
            if form == "prefix":
                _translate_prefix(source, edits, match)
            elif form == "static_cast" or _is_call(source, match):
                edits.replace(*match.span(), _call(match))


def _translate_prefix(source: Source, edits: Edits, match: re.Match[str]) -> None:
    if _is_cast(source, match) and (end := _operand(source, match.end())):
        edits.replace(*match.span(), f"{_call(match)}(")
        edits.replace(end, end, ")")


def _call(match: re.Match[str]) -> str:
    return f"{CONVERTED}<{match['type']}>"


def _is_cast(source: Source, match: re.Match[str]) -> bool:
    """Return whether ``(int)`` is a cast, and no list of parameters, nor what ``sizeof`` asks for."""
    before = source.head(match.start(), 256)
    if before.endswith(")"):  # (float)(int)x, but void (*f)(int) &
        return source.code[match.end() :].lstrip()[:1] not in "+-*&!~"
    return bool(_OPERATOR.search(before) or _OPENING.search(before)) and not _NO_EXPRESSION.search(before)


def _is_call(source: Source, match: re.Match[str]) -> bool:
    """Return whether ``int(`` is a cast, and no declaration."""
    before = source.head(match.start(), 256)
    if _NO_EXPRESSION.search(before):
        return False
    if before.endswith(("(", ",", "[")):
        return source.code[match.end() + 1 :].lstrip()[:1] not in "*&"
    return bool(_OPERATOR.search(before))


def _operand(source: Source, place: int) -> int | None:
    """Return where the operand of a cast ends, or None if it is not understood."""
    while found := _PREFIX.match(source.code, place):
        place = found.end()
    if source.code[place:].lstrip()[:1] == "(":
        place = source.close(source.code.index("(", place)) + 1
        if _NAME_OR_NUMBER.match(source.code, place):  # what stands in parentheses was a type
            return _operand(source, place)
    elif found := _NAME_OR_NUMBER.match(source.code, place):
        place = found.end()
    else:
        return None
    return _after_suffixes(source, place)


def _after_suffixes(source: Source, place: int) -> int:
    """Return where the calls, indices and members after an operand's first part end."""
    while True:
        rest = re.compile(r"\s*").match(source.code, place)
        assert rest
        if source.code[rest.end() : rest.end() + 1] in ("(", "["):
            place = source.close(rest.end()) + 1
        elif found := _MEMBER.match(source.code, place) or _ARGUMENTS.match(source.code, place):
            place = found.end()
        else:
            return place
