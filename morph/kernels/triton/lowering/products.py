"""Products of matrices."""

from __future__ import annotations

from morph.kernels.triton.ir.operations import Operation
from morph.kernels.triton.ir.types import Type
from morph.kernels.triton.lowering.conversions import converted
from morph.kernels.triton.lowering.kernel import Kernel, lowers
from morph.kernels.triton.lowering.values import Index, Stored, Value


@lowers("tt.dot")
def _dot(kernel: Kernel, operation: Operation) -> None:
    left, right, first = kernel.operands(operation)[:3]
    type = operation.outputs[0]
    computing = type.of("f32") if type.is_narrow_float else type
    a, b = (_in(kernel, value, computing) for value in (left, right))
    sums = kernel.copied(_conversion(kernel, first, computing))
    *batch, m, n = type.shape or ()
    k = (left.type.shape or ())[-1]
    with kernel.writer.loop(batch[0] if batch else 1) as z:
        places = f"{a.name} + {z} * {m * k}, {b.name} + {z} * {k * n}, {sums.name} + {z} * {m * n}"
        kernel.writer.write(f"multiply<{computing.c_type}, {m}, {n}, {k}>({places});")
    kernel.set(operation.results[0], _conversion(kernel, sums, type))


def _in(kernel: Kernel, value: Value, type: Type) -> Stored:
    return kernel.stored(_conversion(kernel, value, type))


def _conversion(kernel: Kernel, value: Value, type: Type) -> Value:
    if value.type.element == type.element:
        return value

    def element(index: Index) -> str:
        return converted(kernel.writer.at(value, index), value.type, type)

    return Value(value.type.of(type.element), element, value.cost + 1)
