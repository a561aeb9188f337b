"""Loads, stores and atomic operations."""

from __future__ import annotations

from collections.abc import Callable

from morph.kernels.triton.errors import UnsupportedOperationError
from morph.kernels.triton.ir.operations import Operation
from morph.kernels.triton.ir.types import Type
from morph.kernels.triton.lowering.constants import zero
from morph.kernels.triton.lowering.kernel import Kernel, lowers
from morph.kernels.triton.lowering.spans import Count, chosen
from morph.kernels.triton.lowering.values import Index, Stored, Value

ATOMICS = {"and": "and_", "or": "or_", "xor": "xor_"}


def _place(kernel: Kernel, pointer: Value, index: Index, use: str) -> str:
    """Return the expression of an address that is read or written, ``use`` says which."""
    place = kernel.writer.at(pointer, index)
    return f"checks.{use}({place})" if kernel.is_checked else place


@lowers("tt.load")
def _load(kernel: Kernel, operation: Operation) -> None:
    type = operation.inputs[0].pointee
    pointer, *rest = kernel.operands(operation)
    volatile = operation.flag("isVolatile")

    def loaded(index: Index) -> str:
        place = _place(kernel, pointer, index, "polled" if volatile else "read")
        return f"*({type.c_type} const volatile*)({place})" if volatile else f"*{place}"

    def other(index: Index) -> str:
        return kernel.writer.at(rest[1], index) if len(rest) > 1 else zero(type)

    def element(index: Index) -> str:
        if not rest:
            return loaded(index)
        return f"({kernel.writer.at(rest[0], index)} ? {loaded(index)} : {other(index)})"

    if type.shape is None:
        kernel.set(operation.results[0], kernel.writer.constant(type, element(())))
        return
    result, count = kernel.writer.variable(type), chosen(kernel, operation.operands[1]) if rest else None
    kernel.set(operation.results[0], result)
    if count is None:
        _fill(kernel, result, type.shape, element)
    else:
        _fill_row(kernel, result, type.shape, count, loaded, other)


def _fill(kernel: Kernel, result: Stored, shape: tuple[int, ...], element: Callable[[Index], str]) -> None:
    with kernel.writer.loops(shape) as index:
        kernel.writer.write(f"{result.element(index)} = {element(index)};")


def _fill_row(
    kernel: Kernel,
    result: Stored,
    shape: tuple[int, ...],
    count: Count,
    loaded: Callable[[Index], str],
    other: Callable[[Index], str],
) -> None:
    """Write the elements that a mask chooses, and then the others."""
    writer = kernel.writer
    with writer.loops(shape[:-1]) as row:
        limit = writer.at(writer.constant(Type("i32"), count(row)))
        for begin, end, element in (("0", limit, loaded), (limit, str(shape[-1]), other)):
            with writer.span(begin, end) as place:
                index = (*row, place)
                writer.write(f"{result.element(index)} = {element(index)};")


@lowers("tt.store")
def _store(kernel: Kernel, operation: Operation) -> None:
    pointer, value, *rest = kernel.operands(operation)
    writer, shape = kernel.writer, pointer.type.shape or ()
    count = chosen(kernel, operation.operands[2]) if rest else None
    if count is not None:
        with writer.loops(shape[:-1]) as row:
            limit = writer.at(writer.constant(Type("i32"), count(row)))
            with writer.span("0", limit) as column:
                index = (*row, column)
                place = _place(kernel, pointer, index, "written")
                writer.write(f"*{place} = {writer.at(value, index)};")
        return
    with writer.loops(shape) as index:
        condition = f"if ({writer.at(rest[0], index)}) " if rest else ""
        place = _place(kernel, pointer, index, "written")
        writer.write(f"{condition}*{place} = {writer.at(value, index)};")


@lowers("tt.atomic_rmw")
def _atomic(kernel: Kernel, operation: Operation) -> None:
    kind = operation.words.split(",")[0]
    type = operation.outputs[0]
    pointer, value, *rest = kernel.operands(operation)
    function = f"atomics::{ATOMICS.get(kind, kind)}<{type.c_type}>"

    def statement(result: str, index: Index) -> str:
        at = kernel.writer.at
        condition = f"if ({at(rest[0], index)}) " if rest else ""
        place = _place(kernel, pointer, index, "updated")
        return f"{condition}{result} = {function}({place}, {at(value, index)});"

    if type.is_float and kind in ("max", "min"):
        raise UnsupportedOperationError("tt.atomic_rmw", f"{kind} of floating-point numbers")
    result = kernel.writer.variable(type, zero(type))
    with kernel.writer.loops(type.shape or ()) as index:
        kernel.writer.write(statement(result.element(index), index))
    kernel.set(operation.results[0], result)


@lowers("tt.atomic_cas")
def _compare_and_swap(kernel: Kernel, operation: Operation) -> None:
    type = operation.outputs[0]
    pointer, *values = kernel.operands(operation)
    result = kernel.writer.variable(type)
    with kernel.writer.loops(type.shape or ()) as index:
        place = _place(kernel, pointer, index, "updated")
        arguments = ", ".join([place, *(kernel.writer.at(value, index) for value in values)])
        kernel.writer.write(
            f"{result.element(index)} = atomics::compare_and_swap<{type.c_type}>({arguments});"
        )
    kernel.set(operation.results[0], result)


@lowers("tt.atomic_poll")
def _poll(kernel: Kernel, operation: Operation) -> None:
    pointer, expected, *timeout = kernel.operands(operation)
    type, writer = operation.outputs[0], kernel.writer
    limit = writer.at(timeout[0]) if timeout else "-1"
    result = writer.variable(type)
    with writer.loops(type.shape or ()) as index:
        place, value = _place(kernel, pointer, index, "polled"), writer.at(expected, index)
        writer.write(f"{result.element(index)} = poll<{expected.type.c_type}>({place}, {value}, {limit});")
    kernel.set(operation.results[0], result)


@lowers(
    *("gpu.barrier", "ttg.barrier", "tt.debug_barrier", "llvm.intr.assume"),
    *("tt.grid_dependency_wait", "tt.grid_dependency_launch_dependents"),
)
def _nothing(kernel: Kernel, operation: Operation) -> None:
    """An instance is one thread, which has nobody to wait for."""
