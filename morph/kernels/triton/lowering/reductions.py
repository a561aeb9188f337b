"""Reductions and scans, with whatever their regions combine elements by."""

from __future__ import annotations

from collections.abc import Sequence

from morph.kernels.triton.ir.operations import Operation, Region
from morph.kernels.triton.ir.types import Type
from morph.kernels.triton.lowering.kernel import Kernel, lowers, only_block
from morph.kernels.triton.lowering.values import Index, Stored, Value, stored

LANES = 16


def combine(kernel: Kernel, region: Region, first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Write the combination of two tuples of elements, and return the names of its results."""
    block = only_block(region)
    with kernel.scoped():
        for (name, type), expression in zip(block.arguments, [*first, *second], strict=True):
            kernel.set(name, stored(type, expression))
        *operations, ending = block.operations
        kernel.lower(operations)
        return [kernel.scalar(name) for name in ending.operands]


def _assign(kernel: Kernel, targets: Sequence[str], results: Sequence[str], types: Sequence[Type]) -> None:
    """Assign results, each of which may be one of the targets."""
    held = [kernel.writer.constant(type, result) for type, result in zip(types, results, strict=True)]
    for target, value in zip(targets, held, strict=True):
        kernel.writer.write(f"{target} = {kernel.writer.at(value)};")


@lowers("tt.reduce")
def _reduce(kernel: Kernel, operation: Operation) -> None:
    axis = operation.integer("axis")
    values = kernel.operands(operation)
    shape = values[0].type.shape or ()
    results = [kernel.writer.variable(type) for type in operation.outputs]
    if axis == len(shape) - 1:
        _reduce_rows(kernel, operation.regions[0], values, results, shape)
    else:
        _reduce_along(kernel, operation.regions[0], values, results, axis)
    for name, result in zip(operation.results, results, strict=True):
        kernel.set(name, result)


def _reduce_rows(
    kernel: Kernel, region: Region, values: list[Value], results: list[Stored], shape: tuple[int, ...]
) -> None:
    """Reduce along the last axis: in lanes side by side, then the halves of the lanes, as warps do."""
    lanes = min(LANES, shape[-1])
    types = [value.type.shaped(None) for value in values]
    with kernel.writer.loops(shape[:-1]) as index, kernel.writer.scope(""):
        sums = _in_lanes(kernel, region, values, index, lanes)
        while lanes > 1:
            lanes //= 2
            with kernel.writer.loop(lanes) as lane, kernel.writer.scope(""):
                first = [f"{sum.name}[{lane}]" for sum in sums]
                second = [f"{sum.name}[{lane} + {lanes}]" for sum in sums]
                _assign(kernel, first, combine(kernel, region, first, second), types)
        for result, sum in zip(results, sums, strict=True):
            kernel.writer.write(f"{result.element(index)} = {sum.name}[0];")


def _in_lanes(kernel: Kernel, region: Region, values: list[Value], index: Index, lanes: int) -> list[Stored]:
    """Write the reduction of every ``lanes``-th element."""
    writer, size = kernel.writer, (values[0].type.shape or ())[-1]
    types = [value.type.shaped(None) for value in values]
    sums = [writer.variable(type.shaped((lanes,))) for type in types]
    with writer.loop(lanes) as lane:
        for sum, value in zip(sums, values, strict=True):
            writer.write(f"{sum.name}[{lane}] = {writer.at(value, (*index, lane))};")
    if size == lanes:
        return sums
    step = writer.name("k")
    with writer.scope(f"for (int {step} = {lanes}; {step} < {size}; {step} += {lanes})"):
        with writer.loop(lanes) as lane, writer.scope(""):
            place = writer.constant(Type("i32"), f"{step} + {lane}")
            following = [writer.at(value, (*index, writer.at(place))) for value in values]
            targets = [f"{sum.name}[{lane}]" for sum in sums]
            _assign(kernel, targets, combine(kernel, region, targets, following), types)
    return sums


def _reduce_along(
    kernel: Kernel, region: Region, values: list[Value], results: list[Stored], axis: int
) -> None:
    """Reduce along another axis than the last: all sums grow together."""
    shape, writer = values[0].type.shape or (), kernel.writer
    rest = shape[:axis] + shape[axis + 1 :]
    types = [value.type.shaped(None) for value in values]
    with writer.loops(rest) as index:
        for result, value in zip(results, values, strict=True):
            writer.write(f"{result.element(index)} = {writer.at(value, _inserted(index, axis, '0'))};")
    place = writer.name("k")
    with writer.scope(f"for (int {place} = 1; {place} < {shape[axis]}; ++{place})"):
        with writer.loops(rest) as index, writer.scope(""):
            following = [writer.at(value, _inserted(index, axis, place)) for value in values]
            targets = [result.element(index) for result in results]
            _assign(kernel, targets, combine(kernel, region, targets, following), types)


def _inserted(index: Index, axis: int, place: str) -> Index:
    return (*index[:axis], place, *index[axis:])


@lowers("tt.scan")
def _scan(kernel: Kernel, operation: Operation) -> None:
    axis, backwards = operation.integer("axis"), operation.flag("reverse")
    values = [kernel.stored(value) for value in kernel.operands(operation)]
    results = [kernel.writer.variable(value.type) for value in values]
    shape, writer = values[0].type.shape or (), kernel.writer
    types = [value.type.shaped(None) for value in values]
    size = shape[axis]
    first, step = (str(size - 1), -1) if backwards else ("0", 1)
    with writer.loops(shape[:axis] + shape[axis + 1 :]) as index, writer.scope(""):
        for result, value in zip(results, values, strict=True):
            begin = _inserted(index, axis, first)
            writer.write(f"{result.element(begin)} = {value.element(begin)};")
        count = writer.name("n")
        with writer.scope(f"for (int {count} = 1; {count} < {size}; ++{count})"):
            place, previous = writer.name("k"), writer.name("k")
            writer.write(f"int const {place} = {first} + {step} * {count}, {previous} = {place} - {step};")
            before = [result.element(_inserted(index, axis, previous)) for result in results]
            following = [value.element(_inserted(index, axis, place)) for value in values]
            targets = [result.element(_inserted(index, axis, place)) for result in results]
            _assign(kernel, targets, combine(kernel, operation.regions[0], before, following), types)
    for name, result in zip(operation.results, results, strict=True):
        kernel.set(name, result)
