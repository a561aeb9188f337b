"""Loops and branches: what they carry lies in variables."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence

from morph.kernels.triton.ir.operations import Block, Operation
from morph.kernels.triton.ir.types import Type
from morph.kernels.triton.lowering.kernel import Kernel, lowers, only_block
from morph.kernels.triton.lowering.values import Index, Stored, Value

FOR = re.compile(r"(unsigned )?(%\S+) = (%\S+) to (%\S+) step (%\S+)")
CARRIED = re.compile(r"(%[^\s,(]+) = (%[^\s,)]+)")


def assign(kernel: Kernel, targets: Sequence[Stored], values: Sequence[Value]) -> None:
    """Assign values to variables, any of which the values may be computed from."""
    names = {target.name for target in targets}
    held = [_held(kernel, value, target, names) for target, value in zip(targets, values, strict=True)]
    for target, value in zip(targets, held, strict=True):
        if value.name == target.name:
            continue
        if target.type.shape is None:
            kernel.writer.write(f"{target.name} = {value.name};")
        else:
            kernel.writer.write(f"std::memcpy({target.name}, {value.name}, sizeof {target.name});")


def _held(kernel: Kernel, value: Value, target: Stored, changing: set[str]) -> Stored:
    if isinstance(value, Stored) and (value.name == target.name or value.name not in changing):
        return value
    if value.type.shape is None:
        held = kernel.writer.constant(value.type, kernel.writer.at(value))
        assert isinstance(held, Stored)
        return held
    return kernel.copied(value)


@lowers("scf.for")
def _for(kernel: Kernel, operation: Operation) -> None:
    match = FOR.match(operation.words)
    assert match is not None
    heading, _, _ = operation.words.partition(" -> ")
    pairs = CARRIED.findall(heading.partition("iter_args(")[2])
    type = operation.inputs[0] if operation.inputs and " : " in operation.text else Type("i32")
    operations, yielded = _body(only_block(operation.regions[0]))
    carried = _Carried(kernel, operations, yielded, pairs)
    counter = kernel.writer.name("n")
    low, high, step = (kernel.scalar(match[number]) for number in (3, 4, 5))
    of = f"u{type.c_type}" if match[1] else type.c_type
    head = f"for ({of} {counter} = {low}; {counter} < ({of}){high}; {counter} += {step})"
    with kernel.writer.scope(head), kernel.scoped():
        kernel.set(match[2], Value(type, lambda index: f"{type.c_type}({counter})"))
        carried.bind()
        kernel.lower(operations)
        carried.advance()
    for name, value in zip(operation.results, carried.values, strict=True):
        kernel.set(name, value)


class _Carried:
    """What a loop carries from one turn to the next.

    A tensor that only moves by a scalar each turn, as pointers do, is not stored; its distance is.
    """

    def __init__(
        self,
        kernel: Kernel,
        operations: list[Operation],
        yielded: list[str],
        pairs: list[tuple[str, str]],
    ) -> None:
        self._kernel = kernel
        self._names = [name for name, _ in pairs]
        self._yielded = yielded
        self._inside = {name: each for each in operations for name in each.results}
        self._steps: dict[int, tuple[str, str]] = {}
        self.values = [self._start(number, *pair) for number, pair in enumerate(pairs)]

    def bind(self) -> None:
        for name, value in zip(self._names, self.values, strict=True):
            self._kernel.set(name, value)

    def advance(self) -> None:
        """Write the end of a turn: all that is yielded is computed before any of it is assigned."""
        kernel, stored_ones = self._kernel, [n for n in range(len(self.values)) if n not in self._steps]
        moves = [(moved, self._uniform(step)) for moved, step in self._steps.values()]
        targets = [value for n in stored_ones if isinstance(value := self.values[n], Stored)]
        assign(kernel, targets, [kernel.value(self._yielded[n]) for n in stored_ones])
        for moved, distance in moves:
            kernel.writer.write(f"{moved} += {distance};")

    def _start(self, number: int, name: str, first: str) -> Value:
        value = self._kernel.value(first)
        step = self._step(number, name) if value.type.shape is not None else None
        if step is None:
            return self._kernel.copied(value)
        moved = self._kernel.writer.name("d")
        self._kernel.writer.write(f"int64_t {moved} = 0;")
        self._steps[number] = moved, step
        return self._moving(self._kernel.cheap(value), moved)

    def _moving(self, start: Value, moved: str) -> Value:
        kernel, type = self._kernel, start.type
        cast = "" if type.is_pointer else type.c_type

        def element(index: Index) -> str:
            return f"{cast}({kernel.writer.at(start, index)} + {moved})"

        return Value(type, element, start.cost + 1, start.is_uniform)

    def _step(self, number: int, name: str) -> str | None:
        """Return the name of what is added to a tensor each turn, if that is all that happens to it."""
        definition = self._inside.get(self._yielded[number])
        if definition is None or definition.name not in ("tt.addptr", "arith.addi"):
            return None
        if definition.operands[0] != name or definition.outputs[0].element == "i1":
            return None
        step = definition.operands[1]
        inner = self._inside.get(step)
        if inner is not None:
            return step if inner.name in ("tt.splat", "arith.constant") else None
        is_carried = step in self._names
        return step if not is_carried and self._kernel.value(step).is_uniform else None

    def _uniform(self, name: str) -> str:
        """Compute the element that a tensor consists of now, as it may be of a scalar that changes."""
        value, writer = self._kernel.value(name), self._kernel.writer
        element = writer.at(value, ("0",) * len(value.type.shape or ()))
        return writer.at(writer.constant(value.type, element))


@lowers("scf.if")
def _if(kernel: Kernel, operation: Operation) -> None:
    results = [kernel.writer.variable(type) for type in operation.outputs]
    condition = kernel.scalar(operation.operands[0])
    for number, region in enumerate(operation.regions):
        with kernel.writer.scope("else" if number else f"if ({condition})"), kernel.scoped():
            operations, yielded = _body(only_block(region))
            kernel.lower(operations)
            assign(kernel, results, [kernel.value(name) for name in yielded])
    for name, result in zip(operation.results, results, strict=True):
        kernel.set(name, result)


def _body(block: Block) -> tuple[list[Operation], list[str]]:
    """Return the operations of a block and what it yields; TTIR leaves out a yield of nothing."""
    if block.operations and block.operations[-1].name == "scf.yield":
        return block.operations[:-1], block.operations[-1].operands
    return block.operations, []


@lowers("scf.while")
def _while(kernel: Kernel, operation: Operation) -> None:
    pairs = CARRIED.findall(operation.words)
    before, after = (only_block(region) for region in operation.regions)
    carried = [kernel.copied(kernel.value(first)) for _, first in pairs]
    results = [kernel.writer.variable(type) for type in operation.outputs]
    with _waiting(kernel, operation), kernel.writer.scope("for (;;)"), kernel.scoped():
        for (name, _), value in zip(pairs, carried, strict=True):
            kernel.set(name, value)
        kernel.lower(before.operations[:-1])
        condition, *passed = before.operations[-1].operands
        assign(kernel, results, [kernel.value(name) for name in passed])
        kernel.writer.write(f"if (!({kernel.scalar(condition)})) break;")
        if may_wait(operation):
            kernel.writer.write("waiting.turn();")
        for (name, _), result in zip(after.arguments, results, strict=True):
            kernel.set(name, result)
        operations, yielded = _body(after)
        kernel.lower(operations)
        assign(kernel, carried, [kernel.value(name) for name in yielded])
    for name, result in zip(operation.results, results, strict=True):
        kernel.set(name, result)


def may_wait(loop: Operation) -> bool:
    """Return whether a loop may end only when another instance has written something."""
    return any(
        each.name.startswith("tt.atomic") or (each.name == "tt.load" and each.flag("isVolatile"))
        for each in loop.nested()
    )


@contextlib.contextmanager
def _waiting(kernel: Kernel, loop: Operation) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        if may_wait(loop):
            stack.enter_context(kernel.writer.scope(""))
            kernel.writer.write("Waiting waiting;")
        yield


@lowers("scf.execute_region")
def _region(kernel: Kernel, operation: Operation) -> None:
    operations, yielded = _body(only_block(operation.regions[0]))
    kernel.lower(operations)
    for name, each in zip(operation.results, yielded, strict=True):
        kernel.set(name, kernel.value(each))
