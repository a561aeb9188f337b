"""Products of matrices."""

from __future__ import annotations

import re

from morph.kernels.triton.ir.operations import Operation
from morph.kernels.triton.ir.types import Type
from morph.kernels.triton.lowering.conversions import converted
from morph.kernels.triton.lowering.kernel import Kernel, lowers
from morph.kernels.triton.lowering.values import Index, Stored, Value

SCALED = re.compile(r"(%\S+?)(?: scale (%\S+?))?, (%\S+?)(?: scale (%\S+?))?, (%\S+) lhs = (\w+) rhs = (\w+)")


@lowers("tt.dot")
def _dot(kernel: Kernel, operation: Operation) -> None:
    left, right, first = kernel.operands(operation)[:3]
    type = operation.outputs[0]
    computing = type.of("f32") if type.is_narrow_float else type
    a, b = (_in(kernel, value, computing) for value in (left, right))
    sums = _multiplied(kernel, a, b, kernel.copied(_conversion(kernel, first, computing)))
    kernel.set(operation.results[0], _conversion(kernel, sums, type))


@lowers("tt.dot_scaled")
def _scaled_dot(kernel: Kernel, operation: Operation) -> None:
    match = SCALED.match(operation.words)
    assert match is not None
    left, left_scale, right, right_scale, first, left_kind, right_kind = match.groups()
    is_packed_by_k = [operation.attributes.get(f"{side}_k_pack", "true") == "true" for side in ("lhs", "rhs")]
    a = _unpacked(kernel, kernel.value(left), left_kind, -1 if is_packed_by_k[0] else -2)
    b = _unpacked(kernel, kernel.value(right), right_kind, -2 if is_packed_by_k[1] else -1)
    if left_scale:
        a = _scaled(kernel, a, kernel.value(left_scale), is_left=True)
    if right_scale:
        b = _scaled(kernel, b, kernel.value(right_scale), is_left=False)
    type = operation.outputs[0]
    sums = kernel.copied(_conversion(kernel, kernel.value(first), type.of("f32")))
    sums = _multiplied(kernel, kernel.stored(a), kernel.stored(b), sums)
    kernel.set(operation.results[0], _conversion(kernel, sums, type))


def _unpacked(kernel: Kernel, value: Value, kind: str, axis: int) -> Value:
    """Return an operand in float32; of two numbers in a byte, the first has the lower bits."""
    shape = list(value.type.shape or ())
    if kind != "e2m1":
        return _conversion(kernel, value, value.type.of("f32"))
    value, axis = kernel.stored(value), axis % len(shape)
    shape[axis] *= 2

    def element(index: Index) -> str:
        byte = value.element((*index[:axis], f"({index[axis]} / 2)", *index[axis + 1 :]))
        return f"four_bits({byte} >> ({index[axis]} % 2 * 4))"

    return Value(value.type.of("f32").shaped(tuple(shape)), element, 4)


def _scaled(kernel: Kernel, value: Value, scale: Value, is_left: bool) -> Value:
    """Return an operand times the scales of its blocks along K, which are rows of K for either operand."""
    scale = kernel.stored(scale)
    shape, scales = value.type.shape or (), (scale.type.shape or ())[-1]
    block = shape[-1 if is_left else -2] // scales

    def element(index: Index) -> str:
        *batch, row, k = index if is_left else (*index[:-2], index[-1], index[-2])
        factor = scale.element((*batch, row, f"({k} / {block})"))
        power = f"power_of_two({factor})" if scale.type.element == "i8" else f"float({factor})"
        return f"{kernel.writer.at(value, index)} * {power}"

    return Value(value.type, element, value.cost + 4)


def _multiplied(kernel: Kernel, a: Stored, b: Stored, sums: Stored) -> Stored:
    """Write the product of two matrices, or of batches of them, into the sums."""
    *batch, m, n = sums.type.shape or ()
    k = (a.type.shape or ())[-1]
    with kernel.writer.loop(batch[0] if batch else 1) as z:
        places = f"{a.name} + {z} * {m * k}, {b.name} + {z} * {k * n}, {sums.name} + {z} * {m * n}"
        kernel.writer.write(f"multiply<{sums.type.c_type}, {m}, {n}, {k}>({places});")
    return sums


def _in(kernel: Kernel, value: Value, type: Type) -> Stored:
    return kernel.stored(_conversion(kernel, value, type))


def _conversion(kernel: Kernel, value: Value, type: Type) -> Value:
    if value.type.element == type.element:
        return value

    def element(index: Index) -> str:
        return converted(kernel.writer.at(value, index), value.type, type)

    return Value(value.type.of(type.element), element, value.cost + 1)
