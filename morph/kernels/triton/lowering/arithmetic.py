"""The arithmetic of integers and floating-point numbers, and comparisons."""

from __future__ import annotations

from collections.abc import Callable

from morph.kernels.triton.ir.operations import Operation
from morph.kernels.triton.ir.types import Type
from morph.kernels.triton.lowering.kernel import Kernel, lowers

DIVISION = 16  # what a division takes, in additions
SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^"}
RELATIONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def unsigned(type: Type) -> str:
    """Return the C++ type of an integer without a sign."""
    return "bool" if type.element == "i1" else f"u{type.c_type}"


def computed(type: Type, *operands: str) -> list[str]:
    """Return operands in the type in which arithmetic is done."""
    return [f"float({each})" for each in operands] if type.is_narrow_float else [*operands]


@lowers("arith.addi", "arith.subi", "arith.muli")
def _integer(kernel: Kernel, operation: Operation) -> None:
    type, symbol = operation.outputs[0], SYMBOLS[operation.name[6:9]]
    if type.element == "i1":
        symbol = "&" if symbol == "*" else "^"
        kernel.elementwise(operation, type, lambda a, b: f"bool({a} {symbol} {b})")
    elif kernel.uses.is_offset(operation.results[0]):
        kernel.elementwise(operation, type, lambda a, b: f"{type.c_type}({a} {symbol} {b})")
    else:
        wide = "uint32_t" if type.element in ("i8", "i16") else unsigned(type)
        kernel.elementwise(operation, type, lambda a, b: f"{type.c_type}({wide}({a}) {symbol} {wide}({b}))")


@lowers("arith.andi", "arith.ori", "arith.xori")
def _bitwise(kernel: Kernel, operation: Operation) -> None:
    type, symbol = operation.outputs[0], SYMBOLS[operation.name[6:-1]]
    kernel.elementwise(operation, type, lambda a, b: f"{type.c_type}({a} {symbol} {b})")


@lowers("arith.divsi", "arith.remsi", "arith.divui", "arith.remui")
def _division(kernel: Kernel, operation: Operation) -> None:
    type = operation.outputs[0]
    function = "quotient" if operation.name[6:9] == "div" else "remainder_of"
    of = type.c_type if operation.name.endswith("si") else unsigned(type)
    kernel.elementwise(operation, type, lambda a, b: f"{type.c_type}({function}<{of}>({a}, {b}))", DIVISION)


@lowers("arith.ceildivsi", "arith.floordivsi", "arith.ceildivui")
def _rounded_division(kernel: Kernel, operation: Operation) -> None:
    type = operation.outputs[0]
    of = "uint64_t" if operation.name.endswith("ui") else "int64_t"
    sign = ">" if "ceil" in operation.name else "<"
    step = "+ 1" if "ceil" in operation.name else "- 1"

    def divide(a: str, b: str) -> str:
        q, r = f"quotient<{of}>({a}, {b})", f"remainder_of<{of}>({a}, {b})"
        same = "true" if of == "uint64_t" else f"(({r} < 0) == ({b} < 0))"
        away = same if sign == ">" else f"!{same}"
        return f"{type.c_type}({q} + ({r} != 0 && {away} ? {step.replace(' ', '')} : 0))"

    kernel.elementwise(operation, type, divide, 2 * DIVISION)


@lowers("arith.shli", "arith.shrsi", "arith.shrui")
def _shift(kernel: Kernel, operation: Operation) -> None:
    type = operation.outputs[0]
    function = "shifted_left" if operation.name == "arith.shli" else "shifted_right"
    of = unsigned(type) if operation.name == "arith.shrui" else type.c_type
    kernel.elementwise(operation, type, lambda a, b: f"{type.c_type}({function}<{of}>({a}, {b}))")


@lowers("arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui")
def _integer_choice(kernel: Kernel, operation: Operation) -> None:
    type = operation.outputs[0]
    of = type.c_type if operation.name.endswith("si") else unsigned(type)
    symbol = "<" if operation.name[6:9] == "min" else ">"
    kernel.elementwise(operation, type, lambda a, b: f"(({of}){a} {symbol} ({of}){b} ? {a} : {b})")


@lowers("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "tt.precise_divf")
def _floating(kernel: Kernel, operation: Operation) -> None:
    type, division = operation.outputs[0], operation.name in ("arith.divf", "tt.precise_divf")
    symbol = "/" if division else SYMBOLS[operation.name[6:9]]

    def compute(*operands: str) -> str:
        a, b = computed(type, *operands)
        return f"{type.c_type}({a} {symbol} {b})"

    kernel.elementwise(operation, type, compute, 4 if division else 1)


CHOICES = {
    "arith.maxnumf": "larger",
    "arith.minnumf": "smaller",
    "arith.maximumf": "larger_or_nan",
    "arith.minimumf": "smaller_or_nan",
    "arith.remf": "math::fmod",
}


@lowers(*CHOICES)
def _floating_choice(kernel: Kernel, operation: Operation) -> None:
    function = CHOICES[operation.name]
    call(kernel, operation, function if "::" in function else f"math::{function}", 3)


def call(kernel: Kernel, operation: Operation, function: str, cost: int) -> None:
    """Lower an operation to a C++ function of floating-point numbers."""
    type = operation.outputs[0]
    kernel.elementwise(
        operation, type, lambda *a: f"{type.c_type}({function}({', '.join(computed(type, *a))}))", cost
    )


@lowers("arith.negf")
def _negation(kernel: Kernel, operation: Operation) -> None:
    type = operation.outputs[0]
    kernel.elementwise(operation, type, lambda a: f"{type.c_type}(-{computed(type, a)[0]})")


@lowers("tt.clampf")
def _clamp(kernel: Kernel, operation: Operation) -> None:
    type = operation.outputs[0]
    kind = "_or_nan" if "propagateNan = all" in operation.text else ""

    def compute(*operands: str) -> str:
        x, low, high = computed(type, *operands)
        return f"{type.c_type}(math::smaller{kind}(math::larger{kind}({x}, {low}), {high}))"

    kernel.elementwise(operation, type, compute, 4)


@lowers("arith.cmpi")
def _compare_integers(kernel: Kernel, operation: Operation) -> None:
    type, predicate = operation.inputs[0], operation.words.split(",")[0]
    symbol = RELATIONS[predicate[-2:]]
    if type.element == "i1" and predicate[0] == "s":
        kernel.elementwise(operation, type, lambda a, b: f"(-int({a}) {symbol} -int({b}))")
        return
    of = unsigned(type) if predicate[0] == "u" and not type.is_pointer else type.c_type
    kernel.elementwise(operation, type.of("i1"), lambda a, b: f"(({of}){a} {symbol} ({of}){b})")


@lowers("arith.cmpf")
def _compare_floats(kernel: Kernel, operation: Operation) -> None:
    type, predicate = operation.inputs[0], operation.words.split(",")[0].split()[0]
    comparison = _comparison(predicate)
    kernel.elementwise(operation, type.of("i1"), lambda a, b: comparison(*computed(type, a, b)), 2)


def _comparison(predicate: str) -> Callable[[str, str], str]:
    """Return what compares two numbers; the first letter says whether NaN is ordered."""
    if predicate in ("true", "false"):
        return lambda a, b: predicate
    if predicate in ("ord", "uno"):
        sign = "" if predicate == "uno" else "!"
        return lambda a, b: f"{sign}(({a} != {a}) | ({b} != {b}))"
    symbol = RELATIONS[predicate[1:]]
    if predicate == "one":
        return lambda a, b: f"(({a} < {b}) | ({a} > {b}))"
    if predicate == "ueq":
        return lambda a, b: f"!(({a} < {b}) | ({a} > {b}))"
    if predicate[0] == "u" and predicate != "une":
        return lambda a, b: f"!({a} {OPPOSITES[symbol]} {b})"
    return lambda a, b: f"({a} {symbol} {b})"


@lowers("arith.select")
def _select(kernel: Kernel, operation: Operation) -> None:
    type = operation.outputs[-1]
    kernel.elementwise(operation, type, lambda c, a, b: f"({c} ? {a} : {b})")
