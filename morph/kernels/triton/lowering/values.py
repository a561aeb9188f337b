"""The values of a kernel, as C++ expressions of an index."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from morph.kernels.triton.ir.types import Type

Index = tuple[str, ...]
PART = re.compile(r"\(?(\w+)(?: / (\d+))?(?: % (\d+))?\)?")


@dataclass(eq=False, slots=True)
class Value:
    """A value whose elements are computed where they are used.

    Attributes:
        type: Its type.
        element: Returns the C++ expression of the element at an index.
        cost: The operations that an element takes, in additions.
        is_uniform: Whether all elements are equal.
    """

    type: Type
    element: Callable[[Index], str]
    cost: int = 0
    is_uniform: bool = False


@dataclass(eq=False, slots=True)
class Stored(Value):
    """A value that lies in a C++ variable: a scalar, or an array in row-major order.

    Attributes:
        name: The variable's name.
    """

    name: str = ""


def stored(type: Type, name: str) -> Stored:
    """Return the value of a C++ variable."""
    if type.shape is None:
        return Stored(type, lambda index: name, 0, True, name)
    return Stored(type, lambda index: f"{name}[{flat(index, type.shape or ())}]", 0, False, name)


def flat(index: Index, shape: tuple[int, ...]) -> str:
    """Return the place of an index in row-major order."""
    place = ""
    for each, size in _merged(index, shape):
        place = f"({place}) * {size} + {each}" if place not in ("", "0") else each
    return place or "0"


def unflattened(place: str, shape: tuple[int, ...]) -> Index:
    """Return the index of a place in row-major order."""
    divisor, total, index = 1, math.prod(shape), []
    for size in reversed(shape):
        is_first = divisor * size == total
        index.append("0" if size == 1 else _part(place, divisor, None if is_first else size))
        divisor *= size
    return tuple(reversed(index))


def _part(place: str, divisor: int, modulus: int | None) -> str:
    quotient = f" / {divisor}" if divisor > 1 else ""
    remainder = f" % {modulus}" if modulus else ""
    return f"({place}{quotient}{remainder})" if quotient or remainder else place


def _merged(index: Index, shape: tuple[int, ...]) -> list[tuple[str, int]]:
    """Return an index and its sizes with as few axes as possible: parts of one place become one again."""
    axes: list[tuple[str, int]] = []
    for each, size in zip(index, shape, strict=True):
        if size == 1:
            continue
        first, second = PART.fullmatch(axes[-1][0]) if axes else None, PART.fullmatch(each)
        if first and second and first[1] == second[1] and second[3] == str(size):
            divisor = int(second[2] or 1)
            if int(first[2] or 1) == divisor * size:
                modulus = int(first[3]) * size if first[3] else None
                axes[-1] = _part(second[1], divisor, modulus), axes[-1][1] * size
                continue
        axes.append((each, size))
    return axes
