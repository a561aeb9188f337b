"""Conversions between types."""

from __future__ import annotations

from morph.kernels.triton.ir.operations import Operation
from morph.kernels.triton.ir.types import Type
from morph.kernels.triton.lowering.arithmetic import unsigned
from morph.kernels.triton.lowering.kernel import Kernel, lowers

COSTS = {"f64": 0, "f32": 0, "bf16": 1, "f16": 9}  # of a conversion, in additions


@lowers("arith.extf", "arith.truncf", "tt.fp_to_fp")
def _between_floats(kernel: Kernel, operation: Operation) -> None:
    source, target = operation.inputs[0], operation.outputs[0]
    if "rtz" in operation.words and target.is_narrow_float:
        kernel.elementwise(operation, target, lambda a: f"toward_zero<{target.c_type}>(float({a}))", 3)
    else:
        cost = sum(COSTS.get(type.element, 20) for type in (source, target))
        kernel.elementwise(operation, target, lambda a: converted(a, source, target), cost)


@lowers("arith.extsi", "arith.trunci", "arith.index_cast", "arith.sitofp")
def _of_signed(kernel: Kernel, operation: Operation) -> None:
    source, target = operation.inputs[0], operation.outputs[0]
    if source.element == "i1":
        kernel.elementwise(operation, target, lambda a: converted(f"-int32_t({a})", source.of("i32"), target))
    elif target.element == "i1":
        kernel.elementwise(operation, target, lambda a: f"bool({a} & 1)")
    else:
        kernel.elementwise(operation, target, lambda a: converted(a, source, target))


@lowers("arith.extui", "arith.uitofp", "arith.index_castui")
def _of_unsigned(kernel: Kernel, operation: Operation) -> None:
    source, target = operation.inputs[0], operation.outputs[0]
    kernel.elementwise(operation, target, lambda a: converted(f"({unsigned(source)}){a}", source, target))


@lowers("arith.fptosi", "arith.fptoui")
def _to_integer(kernel: Kernel, operation: Operation) -> None:
    source, target = operation.inputs[0], operation.outputs[0]
    of = target.c_type if operation.name == "arith.fptosi" else unsigned(target)
    kernel.elementwise(operation, target, lambda a: f"({target.c_type})({of})({source.computing}({a}))")


@lowers("tt.bitcast", "arith.bitcast")
def _bitcast(kernel: Kernel, operation: Operation) -> None:
    target = operation.outputs[0]
    if target.is_pointer:
        kernel.elementwise(operation, target, lambda a: f"({target.c_type}){a}", 0)
    elif target.c_type == operation.inputs[0].c_type:
        kernel.elementwise(operation, target, lambda a: a, 0)
    else:
        kernel.elementwise(operation, target, lambda a: f"bits<{target.c_type}>({a})")


@lowers("tt.int_to_ptr", "tt.ptr_to_int")
def _between_pointers(kernel: Kernel, operation: Operation) -> None:
    target = operation.outputs[0]
    kernel.elementwise(operation, target, lambda a: f"({target.c_type})({a})", 0)


def converted(expression: str, source: Type, target: Type) -> str:
    """Return the C++ expression of a number in another type."""
    if (source.element, target.element) == ("f64", "f16"):
        return f"f16(double({expression}))"  # rounded once
    if target.is_narrow_float or source.is_narrow_float:
        expression = f"float({expression})"
    return f"{target.c_type}({expression})"
