"""The parser of TTIR as libtriton prints it: an operation a line, a region's end on a line of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from morph.kernels.triton.errors import UnsupportedOperationError
from morph.kernels.triton.ir.names import STRING, Names
from morph.kernels.triton.ir.operations import Block, Function, Operation, Region
from morph.kernels.triton.ir.types import Type, parse_type

FUNCTION = re.compile(r'tt\.func (?:(public|private) )?@("[^"]*"|[\w.$-]+)(\(.*)\{$')
RESULTS = re.compile(r"((?:%[\w$.-]+(?::\d+)?(?:, )?)+) = (.*)", re.DOTALL)
NAME = re.compile(r'"?([A-Za-z_][\w.]*)"?(.*)', re.DOTALL)
VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
BLOCK = re.compile(r"(\^\w+)(?:\((.*)\))?:")
OPENING, CLOSING = "<([{", ">)]}"


def parse(text: str) -> list[Function]:
    """Return the functions of a module.

    Args:
        text: The module, without locations.

    Raises:
        UnsupportedOperationError: If a line is not understood.
    """
    return list(_Parser(text).functions())


class _Parser:
    def __init__(self, text: str) -> None:
        self._lines = [line.strip() for line in text.split("\n") if line.strip()]
        self._at = 0
        self._names = Names()

    def functions(self) -> Iterator[Function]:
        while self._at < len(self._lines):
            match = FUNCTION.match(self._next())
            if match:
                arguments = _arguments(_group(match[3]))
                yield Function(match[2].strip('"'), match[1] != "private", arguments, self._region())

    def _next(self) -> str:
        self._at += 1
        return self._names.unique(self._lines[self._at - 1])

    def _region(self) -> Region:
        blocks = [Block("", [])]
        while not self._lines[self._at].startswith("}"):
            line = self._next()
            match = BLOCK.match(line) if line.startswith("^") else None
            if match is None:
                blocks[-1].operations.append(self._operation(line))
            else:
                blocks.append(Block(match[1], _arguments(match[2] or "")))
        return blocks if blocks[0].operations or len(blocks) == 1 else blocks[1:]

    def _operation(self, line: str) -> Operation:
        text, regions = line, []
        while line.endswith("{"):
            regions.append(self._region())
            line = self._next()
            text = text[:-1] + line[1:]
        return _operation(text, regions)


def _operation(text: str, regions: list[Region]) -> Operation:
    match = RESULTS.match(text)
    results, rest = (_results(match[1]), match[2]) if match else ([], text)
    named = NAME.match(rest)
    if named is None:
        raise UnsupportedOperationError(rest[:60], "this line of TTIR is not understood")
    plain, attributes = _without_attributes(named[2])
    words, _, signature = _split_last(plain.rstrip(), " : ")
    if named[1] == "arith.constant" and not signature:
        signature = "i1"
    inputs, outputs = _signature(signature.strip().removesuffix(" do"))
    if not signature:
        words, arrow, types = _split_last(words.removesuffix(" else"), " -> ")
        inputs, outputs = [], _types(types) if arrow else []
    operands = VALUE.findall(STRING.sub("", words))
    return Operation(named[1], results, operands, words.strip(), attributes, inputs, outputs, regions, text)


def _results(text: str) -> list[str]:
    names = []
    for each in text.split(", "):
        name, _, count = each.partition(":")
        names += [f"{name}#{number}" for number in range(int(count))] if count else [name]
    return names


def _arguments(text: str) -> list[tuple[str, Type]]:
    plain, _ = _without_attributes(text)
    pairs = [each.partition(":") for each in _split(plain, ",") if ":" in each]
    return [(name.strip(), parse_type(spelled)) for name, _, spelled in pairs]


def _without_attributes(text: str) -> tuple[str, dict[str, str]]:
    """Take the dictionaries in braces out of a text."""
    attributes: dict[str, str] = {}
    plain, start = "", 0
    for position, depth, character in _walk(text):
        if character == "{" and depth == 1:
            plain, start = plain + text[start:position], position + 1
        elif character == "}" and depth == 0:
            attributes.update(_pairs(text[start:position]))
            start = position + 1
    return (plain + text[start:]).replace("<>", ""), attributes


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for each in _split(text, ","):
        name, _, value = each.partition(" = ")
        yield name.strip().strip('"'), value.strip() or "true"


def _signature(text: str) -> tuple[list[Type], list[Type]]:
    for arrow in (" -> ", " to "):
        before, found, after = _split_last(text, arrow)
        if found:
            return _types(before), _types(after)
    types = _types(text)
    return types, types


def _types(text: str) -> list[Type]:
    text = text.strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    text = text.replace("> * tensor", ">, tensor")  # of tt.dot_scaled
    return [parse_type(each) for each in _split(text, ",") if each.strip()]


def _walk(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield each character outside strings with its position and depth in braces; arrows are no braces."""
    depth, braces, strings = 0, 0, {i for m in STRING.finditer(text) for i in range(*m.span())}
    for position, character in enumerate(text):
        if position in strings or text[max(0, position - 1) : position + 1] == "->":
            continue
        depth += (character in OPENING) - (character in CLOSING)
        braces += (character == "{") - (character == "}")
        yield position, braces if character in "{}" else depth, character


def _split(text: str, separator: str) -> list[str]:
    ends = [position for position, depth, character in _walk(text) if character == separator and not depth]
    starts = [0, *(end + 1 for end in ends)]
    return [text[start:end] for start, end in zip(starts, [*ends, len(text)], strict=True)]


def _split_last(text: str, separator: str) -> tuple[str, str, str]:
    """Split at the last separator that stands in no braces and no string."""
    depths = {position: depth for position, depth, character in _walk(text) if character not in "{}"}
    at = text.rfind(separator)
    while at >= 0 and depths.get(at, 1):
        at = text.rfind(separator, 0, at)
    return (text, "", "") if at < 0 else (text[:at], separator, text[at + len(separator) :])


def _group(text: str) -> str:
    """Return what stands in the parentheses that ``text`` begins with."""
    end = next(position for position, depth, character in _walk(text) if character == ")" and not depth)
    return text[1:end]
