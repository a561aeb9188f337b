"""Masks that are true up to a place of the last axis, as ``places < count`` is: loops that need no mask."""

from __future__ import annotations

from collections.abc import Callable

from morph.kernels.triton.ir.operations import Operation
from morph.kernels.triton.lowering.kernel import Kernel
from morph.kernels.triton.lowering.values import Index

Count = Callable[[Index], str]
"""Returns the C++ expression of how many elements of a row are chosen, given the index of the row."""

UNIFORM = (
    "arith.andi",
    "arith.ori",
    "arith.xori",
    "arith.cmpi",
    "arith.cmpf",
    "arith.muli",
    "arith.addi",
    "arith.subi",
)


def chosen(kernel: Kernel, name: str) -> Count | None:
    """Return how many elements at the begin of a row a mask chooses; None if it may choose others.

    Args:
        kernel: The kernel.
        name: The mask.
    """
    shape = kernel.value(name).type.shape
    if not shape:
        return None
    if _step(kernel, name) == 0:
        return lambda index: f"({kernel.writer.at(kernel.value(name), (*index, '0'))} ? {shape[-1]} : 0)"
    definition = kernel.uses.definition(name)
    rule = RULES.get(definition.name) if definition is not None else None
    return None if definition is None or rule is None else rule(kernel, definition)


def _comparison(kernel: Kernel, operation: Operation) -> Count | None:
    predicate = operation.words.split(",")[0]
    left, right = operation.operands if predicate in ("slt", "sle") else reversed(operation.operands)
    if predicate not in ("slt", "sle", "sgt", "sge"):
        return None
    if _step(kernel, left) != 1 or _step(kernel, right) != 0:
        return None
    size = (operation.inputs[0].shape or ())[-1]
    more = " + 1" if predicate in ("sle", "sge") else ""

    def count(index: Index) -> str:
        first, limit = (kernel.writer.at(kernel.value(name), (*index, "0")) for name in (left, right))
        return f"clamped(int64_t({limit}) - int64_t({first}){more}, {size})"

    return count


def _both(kernel: Kernel, operation: Operation) -> Count | None:
    first, second = (chosen(kernel, name) for name in operation.operands)
    if first is None or second is None:
        return None
    return lambda index: f"smaller_of({first(index)}, {second(index)})"


def _repeated(kernel: Kernel, operation: Operation) -> Count | None:
    source, shape = operation.inputs[0].shape or (), operation.outputs[0].shape or ()
    count = chosen(kernel, operation.operands[0]) if source[-1] == shape[-1] else None
    if count is None:
        return None
    return lambda index: count(
        tuple("0" if size == 1 else each for each, size in zip(index, source[:-1], strict=True))
    )


def _expanded(kernel: Kernel, operation: Operation) -> Count | None:
    axis, rank = operation.integer("axis"), len(operation.outputs[0].shape or ())
    count = chosen(kernel, operation.operands[0]) if axis != rank - 1 else None
    return None if count is None else lambda index: count(index[:axis] + index[axis + 1 :])


RULES: dict[str, Callable[[Kernel, Operation], Count | None]] = {
    "arith.cmpi": _comparison,
    "arith.andi": _both,
    "tt.broadcast": _repeated,
    "tt.expand_dims": _expanded,
}


def _step(kernel: Kernel, name: str) -> int | None:
    """Return by how much a value grows from an element of a row to the next, if it is known to be 0 or 1."""
    value = kernel.value(name)
    shape = value.type.shape
    if value.is_uniform or not shape or shape[-1] == 1:
        return 0
    definition = kernel.uses.definition(name)
    if definition is None:
        return None
    if definition.name == "tt.make_range":
        return 1
    if definition.name == "tt.expand_dims":
        is_last = definition.integer("axis") == len(shape) - 1
        return 0 if is_last else _step(kernel, definition.operands[0])
    if definition.name in ("tt.broadcast", "arith.extsi"):
        return _step(kernel, definition.operands[0])
    return _step_of_arithmetic(kernel, definition)


def _step_of_arithmetic(kernel: Kernel, definition: Operation) -> int | None:
    if definition.name not in UNIFORM:
        return None
    steps = [_step(kernel, name) for name in definition.operands]
    if all(step == 0 for step in steps):
        return 0
    if definition.name == "arith.addi" and sorted(step if step is not None else 9 for step in steps) == [
        0,
        1,
    ]:
        return 1
    return 1 if definition.name == "arith.subi" and steps == [1, 0] else None
