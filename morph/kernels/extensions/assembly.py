"""Inline PTX in CUDA C++: an ``asm`` becomes what its instructions do to its operands, as C++.

NVIDIA's "Inline PTX Assembly in CUDA" says what an ``asm`` may hold: a text, outputs, inputs, and what it
changes besides, each after a colon.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from morph.kernels import ptx
from morph.kernels.extensions.source import LITERAL, Edits, Source, SourceError

PATTERN = r"\b(?:__asm__|__asm|asm)\b"
_OPENING = re.compile(r"(?:\s|\bvolatile\b|\b__volatile__\b)*\(")
_OPERAND = (
    re.compile(  # where a name of CUDA's own is a macro, a line of the preprocessor stands on each side of it
        r"(?:[\s,]|^#[^\n]*$)*(?:\[\s*(?P<name>\w+)\s*\]\s*)?"
        r'(?:"(?P<changes>[=+]?)&?(?P<letter>[hrlfdn])"|_CG_ASM_PTR_CONSTRAINT)(?:\s|^#[^\n]*$)*\(',
        re.MULTILINE,
    )
)
_WIDTHS = {"h": 16, "r": 32, "l": 64, "f": 32, "d": 64, "n": 64}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f", "a": "\a", "b": "\b"}
_DIRECTIVE = re.compile(r'\s*\(\s*"\s*\.symver')
_BARRIER = re.compile(r"\bbar(?:rier)?\s*(?:\.cta\s*)?\.sync\b")
_PLACE = re.compile(r"%(?:(?P<number>\d+)|\[(?P<name>\w+)\]|(?P<percent>%))")


OF_MACROS = "its text is not made of string literals alone"
"""Why an ``asm`` is not understood whose text a macro makes, as long as that is not replaced."""


class AssemblyError(Exception):
    """An ``asm`` that is not understood, or whose instructions are not translated; the message says why."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of an ``asm``.

    Attributes:
        letter: Its constraint: the kind of its register.
        name: Its name in brackets, or empty.
        changes: ``=`` for an output, ``+`` for one that is read before, empty for an input.
        start: Where its expression begins in the source.
        end: Where it ends.
    """

    letter: str
    name: str
    changes: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Assembly:
    """An ``asm`` statement without its semicolon.

    Attributes:
        start: Where it begins in the source.
        end: Where it ends.
        text: Its instructions.
        operands: Its operands, the outputs first.
    """

    start: int
    end: int
    text: str
    operands: tuple[Operand, ...]

    def lines(self) -> list[str]:
        """Return its instructions as C++.

        Raises:
            AssemblyError: If one is not translated.
        """
        registers = {
            f"${number}": (_register(number), _WIDTHS[each.letter])
            for number, each in enumerate(self.operands)
        }
        try:
            return ptx.translate(_PLACE.sub(self._operand, self.text), registers, in_block=True)
        except ptx.UnsupportedInstructionError as error:
            raise AssemblyError(str(error)) from None

    def _operand(self, place: re.Match[str]) -> str:
        if place["percent"]:
            return "%"
        if place["number"]:
            return f"${place['number']}"
        names = [each.name for each in self.operands]
        if place["name"] not in names:
            raise AssemblyError(f"there is no operand {place['name']}")
        return f"${names.index(place['name'])}"


def is_in(source: Source) -> bool:
    """Return whether a source of a user holds an ``asm`` for the device."""
    return any(True for _ in places(source))


def places(source: Source) -> Iterator[re.Match[str]]:
    """Yield where each ``asm`` for the device begins; g++ takes what is in functions of the host alone."""
    for match in source.find(PATTERN):
        if source.is_the_users(match.start()) and not _is_of_host(source, match):
            yield match


def _is_of_host(source: Source, match: re.Match[str]) -> bool:
    if _DIRECTIVE.match(source.text, match.end()):
        return True
    heads = list(_heads(source, match.start()))
    return not any("__global__" in head or "__device__" in head for head in heads) and "(" in "".join(heads)


def _heads(source: Source, place: int) -> Iterator[str]:
    """Yield what stands before each brace around a place, from the innermost on."""
    brace = source.enclosing(place)
    while brace >= 0:
        yield re.split(r"[;{}]", source.head(brace))[-1]
        brace = source.enclosing(brace)


def is_refused_late(source: Source, match: re.Match[str]) -> bool:
    """Return whether an ``asm`` is refused where it is carried out: no kernel may call a function it is in.

    nvcc leaves out functions that nothing calls, and headers hold those for all GPUs (CUTLASS, DeepSpeed).
    """
    return not any("__global__" in head for head in _heads(source, match.start()))


def why_not(source: Source, match: re.Match[str]) -> str:
    """Return why the ``asm`` that begins with a match of `PATTERN` is not translated, or an empty text."""
    try:
        parse(source, match).lines()
    except (AssemblyError, SourceError) as error:
        return str(error)
    return ""


def translated(source: Source) -> Iterator[tuple[int, int]]:
    """Yield where each ``asm`` with instructions stands that is translated."""
    for match in places(source):
        if not why_not(source, match) and parse(source, match).text.strip():
            yield match.span()


def barriers(source: Source) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each ``asm`` that waits for the threads of a block."""
    for each in _of_user(source):
        if _BARRIER.search(each.text):
            yield each.start, each.end


def translate(source: Source, edits: Edits) -> None:
    """Write each ``asm`` of the user's as C++, but those without an instruction, which g++ takes.

    Raises:
        AssemblyError: If one is not understood, or not translated.
    """
    for match in places(source):
        if is_refused_late(source, match) and (reason := why_not(source, match)):
            _refuse(source, match, reason, edits)
        elif (each := parse(source, match)).text.strip():
            _write(each, each.lines(), edits)


def _refuse(source: Source, match: re.Match[str], reason: str, edits: Edits) -> None:
    """Write the end of the launch in the place of an ``asm``, whose operands stay unused."""
    opening = _OPENING.match(source.code, match.end())
    if opening is None:
        raise AssemblyError(reason)
    words = f"the software device does not run inline PTX ({reason})"
    place = "__builtin_FILE(), __builtin_LINE(), __func__"
    failure = f"::morph_cuda::fail({json.dumps(words)}, {place})"
    edits.replace(match.start(), source.close(opening.end() - 1) + 1, failure)


def _of_user(source: Source) -> Iterator[Assembly]:
    """Yield each ``asm`` that is translated."""
    for match in places(source):
        if not (is_refused_late(source, match) and why_not(source, match)):
            yield parse(source, match)


def parse(source: Source, match: re.Match[str]) -> Assembly:
    """Return the ``asm`` that begins with a match of `PATTERN`.

    Raises:
        AssemblyError: If it is not understood.
    """
    opening = _OPENING.match(source.code, match.end())
    if opening is None:
        raise AssemblyError("this form of asm is not understood")
    end = source.close(opening.end() - 1)
    colons = list(_colons(source, opening.end(), end))
    text = _literal(source, opening.end(), colons[0] if colons else end)
    borders = [*colons, end]
    operands = [
        operand
        for start, stop in zip(borders[:2], borders[1:3], strict=False)
        for operand in _operands(source, start + 1, stop)
    ]
    return Assembly(match.start(), end + 1, text, tuple(operands))


def _colons(source: Source, start: int, end: int) -> Iterator[int]:
    """Yield the colons between the parts: all expressions are in parentheses."""
    place = start
    while place < end:
        if source.code[place] in "([{":
            place = source.close(place)
        elif source.code[place] == ":":
            yield place
        place += 1


def _literal(source: Source, start: int, end: int) -> str:
    """Return the text of the string literals in a part of the source, which must hold nothing else."""
    if source.code[start:end].strip():
        raise AssemblyError(OF_MACROS)
    literals = [each[0] for each in LITERAL.finditer(source.text, start, end) if each[0][0] != "#"]
    return "".join(map(_unquoted, literals))


def _unquoted(literal: str) -> str:
    if literal.startswith("R"):
        return literal[literal.index("(") + 1 : literal.rindex(")")]
    return _ESCAPE.sub(_character, literal[1:-1])


def _character(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return chr(int(escape[2], 8)) if escape[2] else _CHARACTERS.get(escape[3], escape[3])


def _operands(source: Source, start: int, end: int) -> Iterator[Operand]:
    place = start
    while source.code[place:end].strip(" \n,"):
        match = _OPERAND.match(source.text, place, end)
        if match is None:
            raise AssemblyError(f"the operand {' '.join(source.text[place:end].split())} is not understood")
        close = source.close(match.end() - 1)
        letter, changes = match["letter"] or "l", match["changes"] or ""
        yield Operand(letter, match["name"] or "", changes, match.end(), close)
        place = close + 1


def _register(number: int) -> str:
    return f"morph_register_{number}"


def _write(assembly: Assembly, lines: list[str], edits: Edits) -> None:
    """Replace what stands around the operands' expressions, which stay and are edited like all others."""
    place, opening = assembly.start, "do { "
    for number, operand in enumerate(assembly.operands):
        variable = f"morph_operand_{number}"
        kind = "auto&&" if operand.changes else "auto"
        edits.replace(place, operand.start, f"{opening}{kind} {variable} = (")
        register = f"::morph_cuda::Register<'{operand.letter}'> {_register(number)}"
        value = (
            "0" if operand.changes == "=" else f"::morph_cuda::register_of<'{operand.letter}'>({variable})"
        )
        place, opening = operand.end, f"); {register} = {value}; "
    stored = (
        f"::morph_cuda::from_register<'{operand.letter}'>(morph_operand_{number}, {_register(number)});"
        for number, operand in enumerate(assembly.operands)
        if operand.changes
    )
    edits.replace(place, assembly.end, " ".join([opening, *lines, *stored, "} while (0)"]))
