"""Loads, stores and atomic operations."""

from __future__ import annotations

from morph.kernels.triton.errors import UnsupportedOperationError
from morph.kernels.triton.ir.operations import Operation
from morph.kernels.triton.lowering.constants import zero
from morph.kernels.triton.lowering.kernel import Kernel, lowers
from morph.kernels.triton.lowering.values import Index, Value

ATOMICS = {"and": "and_", "or": "or_", "xor": "xor_"}


@lowers("tt.load")
def _load(kernel: Kernel, operation: Operation) -> None:
    type = operation.inputs[0].pointee
    pointer, *rest = kernel.operands(operation)
    volatile = operation.flag("isVolatile")

    def element(index: Index) -> str:
        at = kernel.writer.at
        place = at(pointer, index)
        loaded = f"*({type.c_type} const volatile*)({place})" if volatile else f"*{place}"
        if not rest:
            return loaded
        other = at(rest[1], index) if len(rest) > 1 else zero(type)
        return f"({at(rest[0], index)} ? {loaded} : {other})"

    value = Value(type, element)
    kernel.set(operation.results[0], _now(kernel, value))


def _now(kernel: Kernel, value: Value) -> Value:
    if value.type.shape is None:
        return kernel.writer.constant(value.type, value.element(()))
    result = kernel.writer.variable(value.type)
    with kernel.writer.loops(value.type.shape) as index:
        kernel.writer.write(f"{result.element(index)} = {value.element(index)};")
    return result


@lowers("tt.store")
def _store(kernel: Kernel, operation: Operation) -> None:
    pointer, value, *rest = kernel.operands(operation)
    writer = kernel.writer
    with writer.loops(pointer.type.shape or ()) as index:
        condition = f"if ({writer.at(rest[0], index)}) " if rest else ""
        writer.write(f"{condition}*{writer.at(pointer, index)} = {writer.at(value, index)};")


@lowers("tt.atomic_rmw")
def _atomic(kernel: Kernel, operation: Operation) -> None:
    kind = operation.words.split(",")[0]
    type = operation.outputs[0]
    pointer, value, *rest = kernel.operands(operation)
    function = f"atomics::{ATOMICS.get(kind, kind)}<{type.c_type}>"

    def statement(result: str, index: Index) -> str:
        at = kernel.writer.at
        condition = f"if ({at(rest[0], index)}) " if rest else ""
        place = at(pointer, index)
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
    values = kernel.operands(operation)
    result = kernel.writer.variable(type)
    with kernel.writer.loops(type.shape or ()) as index:
        arguments = ", ".join(kernel.writer.at(value, index) for value in values)
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
        place, value = writer.at(pointer, index), writer.at(expected, index)
        writer.write(f"{result.element(index)} = poll<{expected.type.c_type}>({place}, {value}, {limit});")
    kernel.set(operation.results[0], result)


@lowers("gpu.barrier", "ttg.barrier", "tt.debug_barrier", "llvm.intr.assume")
def _nothing(kernel: Kernel, operation: Operation) -> None:
    """An instance is one thread, which has nobody to wait for."""
