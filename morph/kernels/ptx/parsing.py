"""The statements of PTX as it stands in inline assembly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from morph.kernels.ptx.errors import UnsupportedInstructionError

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
INSTRUCTION = re.compile(r"(?:@(!?)\s*([\w%$]+)\s+)?([a-z]\w*)((?:\s*\.[\w:]+)*)\s*(.*)", re.DOTALL)
LABEL = re.compile(r"[\w$%]+\s*:(?!:)")


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction.

    Attributes:
        text: As the program spells it.
        guard: The predicate before it, or empty.
        negated: Whether it runs where the predicate is false.
        name: The first word of its operation: ``add``.
        modifiers: The other words: ``("rn", "f32")``.
        operands: Its operands.
    """

    text: str
    guard: str
    negated: bool
    name: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Declaration:
    """Registers: ``.reg .f32 a, r<4>;``.

    Attributes:
        type: Their type, without the dot.
        names: Their names.
    """

    type: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Brace:
    """The begin or the end of a scope of registers."""

    opens: bool


def parse(text: str) -> Iterator[Instruction | Declaration | Brace]:
    """Yield the statements of a text.

    Raises:
        UnsupportedInstructionError: If it holds a label, or a directive other than ``.reg``.
    """
    rest = COMMENT.sub(" ", text).strip()
    while rest:
        if rest[0] in "{}":
            yield Brace(rest[0] == "{")
            rest = rest[1:].strip()
            continue
        statement, _, rest = rest.partition(";")
        rest = rest.strip()
        if statement.strip():
            yield _statement(" ".join(statement.split()))


def _statement(text: str) -> Instruction | Declaration:
    if LABEL.match(text):
        raise UnsupportedInstructionError(text.split()[0], "branches are not translated")
    if text.startswith(".reg"):
        return _declaration(text)
    match = INSTRUCTION.fullmatch(text)
    if match is None:
        raise UnsupportedInstructionError(text.split()[0], "this is not translated")
    modifiers = tuple(each.strip() for each in match[4].split(".")[1:])
    return Instruction(text, match[2] or "", bool(match[1]), match[3], modifiers, split(match[5]))


def _declaration(text: str) -> Declaration:
    match = re.fullmatch(r"\.reg\s*\.(\w+)\s+(.*)", text)
    if match is None:
        raise UnsupportedInstructionError(text, "registers of vectors are not translated")
    names: list[str] = []
    for name in split(match[2]):
        many = re.fullmatch(r"([\w%$]+)<(\d+)>", name)
        names += [f"{many[1]}{number}" for number in range(int(many[2]))] if many else [name]
    return Declaration(match[1], tuple(names))


def split(text: str) -> tuple[str, ...]:
    """Return what stands between commas, but for those in braces and brackets.

    >>> split("{a, b}, [c+4], d")
    ('{a, b}', '[c+4]', 'd')
    """
    return tuple(each.strip() for each in re.split(r",(?![^{\[]*[}\]])", text) if each.strip())
