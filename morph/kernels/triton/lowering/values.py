"""The values of a kernel, as C++ expressions of an index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from morph.kernels.triton.ir.types import Type

Index = tuple[str, ...]


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
    for each, size in zip(index, shape, strict=True):
        step = "0" if size == 1 else each
        place = f"({place}) * {size} + {step}" if place not in ("", "0") else step
    return place or "0"
