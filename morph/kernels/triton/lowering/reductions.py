"""Reductions and scans, with whatever their regions combine elements by."""

from __future__ import annotations

from collections.abc import Sequence

from morph.kernels.triton.ir.operations import Operation, Region
from morph.kernels.triton.ir.types import Type
from morph.kernels.triton.lowering.kernel import Kernel, lowers, only_block
from morph.kernels.triton.lowering.values import Index, Stored, Value, stored

LANES = 16
MANY_LANES = 64  # for long rows: a lane waits for its last addition


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
    lanes = MANY_LANES if shape[-1] >= 4 * MANY_LANES else min(LANES, shape[-1])
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
    """Combine each element with the one before it, then with the one two before, four before, and so on.

    The rounding errors grow as little as on a GPU, and the elements of a step do not depend on each other.
    """
    axis, is_reverse = operation.integer("axis"), operation.flag("reverse")
    writer, kept = kernel.writer, [kernel.copied(value) for value in kernel.operands(operation)]
    if not kept:
        return
    types, size = [value.type for value in kept], (kept[0].type.shape or ())[axis]
    spare = [writer.variable(type) for type in types]
    distance = writer.name("n")
    with writer.scope(f"for (int {distance} = 1; {distance} < {size}; {distance} *= 2)"):
        _combine_at(kernel, operation.regions[0], kept, spare, axis, distance, is_reverse)
        for first, second in zip(kept, spare, strict=True):
            writer.write(f"std::memcpy({first.name}, {second.name}, sizeof {first.name});")
    for name, value in zip(operation.results, kept, strict=True):
        kernel.set(name, value)


def _combine_at(
    kernel: Kernel,
    region: Region,
    sources: list[Stored],
    targets: list[Stored],
    axis: int,
    distance: str,
    is_reverse: bool,
) -> None:
    """Write the combination of each element with the one that lies a distance before it, if there is one."""
    writer, shape = kernel.writer, sources[0].type.shape or ()
    end, types = shape[axis], [source.type.shaped(None) for source in sources]
    kept, changed = ("0", distance), (distance, str(end))
    if is_reverse:
        kept, changed = (f"{end} - {distance}", str(end)), ("0", f"{end} - {distance}")
    with writer.loops(shape[:axis]) as outer:
        with writer.span(*kept) as place, writer.loops(shape[axis + 1 :]) as inner:
            for source, target in zip(sources, targets, strict=True):
                index = (*outer, place, *inner)
                writer.write(f"{target.element(index)} = {source.element(index)};")
        with writer.span(*changed) as place, writer.loops(shape[axis + 1 :]) as inner, writer.scope(""):
            at = (*outer, place, *inner)
            before = (*outer, f"({place} {'+' if is_reverse else '-'} {distance})", *inner)
            first, second = ([source.element(index) for source in sources] for index in (before, at))
            results = combine(kernel, region, first, second)
            _assign(kernel, [target.element(at) for target in targets], results, types)
