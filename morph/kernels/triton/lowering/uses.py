"""The uses of a kernel's values: those needed more than once, and those that are part of an address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from morph.kernels.triton.ir.operations import Block, Function, Operation, every

REPEATING = ("tt.broadcast", "tt.expand_dims")
# through these, an offset that overflows makes an address that no program can mean
LINEAR = (
    "arith.addi",
    "arith.subi",
    "arith.muli",
    "arith.extsi",
    "tt.splat",
    "tt.expand_dims",
    "tt.broadcast",
)


class Uses:
    """The uses of the values of a module."""

    def __init__(self, functions: Sequence[Function]) -> None:
        self._counts: Counter[str] = Counter()
        self._depths: dict[str, int] = {}
        self._repeated: set[str] = set()
        self._definitions: dict[str, Operation] = {}
        for function in functions:
            for block in function.body:
                self._visit(block, 0)
        self._offsets: set[str] = set()
        for function in functions:
            for block in function.body:
                self._trace_addresses(block)

    def is_repeated(self, name: str) -> bool:
        """Return whether computing a value where it is used would compute it more than once."""
        return self._counts[name] > 1 or name in self._repeated

    def is_offset(self, name: str) -> bool:
        """Return whether a value is part of an address, so that its arithmetic cannot overflow."""
        return name in self._offsets

    def definition(self, name: str) -> Operation | None:
        """Return the operation whose result a value is, if any."""
        return self._definitions.get(name)

    def _visit(self, block: Block, depth: int) -> None:
        for operation in block.operations:
            for name in operation.results:
                self._definitions[name] = operation
                self._depths[name] = depth
            for name in operation.operands:
                self._counts[name] += 2 if operation.name in REPEATING else 1
                if self._depths.get(name, depth) < depth:
                    self._repeated.add(name)
            for region in operation.regions:
                for inner in region:
                    self._visit(inner, depth + (operation.name in ("scf.for", "scf.while")))

    def _trace_addresses(self, block: Block) -> None:
        pending = [each.operands[1] for each in every(block.operations) if each.name == "tt.addptr"]
        while pending:
            name = pending.pop()
            definition = self._definitions.get(name)
            if name not in self._offsets and definition is not None and definition.name in LINEAR:
                self._offsets.add(name)
                pending += definition.operands
