"""The operations of TTIR."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from morph.kernels.triton.ir.types import Type


@dataclass(slots=True)
class Block:
    """Operations that run one after another.

    Attributes:
        label: Its name, such as ``^bb1``; empty for the first one of a region.
        arguments: The names and types of its arguments.
        operations: Its operations.
    """

    label: str
    arguments: list[tuple[str, Type]]
    operations: list[Operation] = field(default_factory=list)


Region = list[Block]


@dataclass(slots=True)
class Operation:
    """An operation.

    Attributes:
        name: Such as ``tt.load``.
        results: The names of its results.
        operands: The names of its operands.
        words: What stands before its types: keywords, and the operands in their places.
        attributes: The attributes in braces.
        inputs: The types before an arrow, or all types if there is none.
        outputs: The types after an arrow, or all types if there is none.
        regions: The nested regions.
        text: As TTIR spells it, without the regions.
    """

    name: str
    results: list[str]
    operands: list[str]
    words: str
    attributes: dict[str, str]
    inputs: list[Type]
    outputs: list[Type]
    regions: list[Region]
    text: str

    def integer(self, attribute: str) -> int:
        """Return the value of an integer attribute."""
        return int(self.attributes[attribute].partition(" ")[0])

    def integers(self, attribute: str) -> list[int]:
        """Return the values of an attribute like ``array<i32: 1, 0>``."""
        values = self.attributes[attribute].partition(":")[2].strip(" >")
        return [int(value) for value in values.split(",") if value]

    def flag(self, attribute: str) -> bool:
        """Return whether an attribute is there and true."""
        return self.attributes.get(attribute, "false").startswith("true")

    def nested(self) -> Iterator[Operation]:
        """Yield the operations in its regions, at any depth."""
        for region in self.regions:
            for block in region:
                yield from every(block.operations)


def every(operations: list[Operation]) -> Iterator[Operation]:
    """Yield operations and those in their regions, at any depth."""
    for operation in operations:
        yield operation
        yield from operation.nested()


@dataclass(slots=True)
class Function:
    """A function.

    Attributes:
        name: Its name.
        is_public: Whether it is the kernel, and not a function that the kernel calls.
        arguments: The names and types of its arguments.
        body: Its blocks.
    """

    name: str
    is_public: bool
    arguments: list[tuple[str, Type]]
    body: Region
