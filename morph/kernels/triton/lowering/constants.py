"""Constants."""

from __future__ import annotations

import re

from morph.kernels.triton.errors import UnsupportedOperationError
from morph.kernels.triton.ir.operations import Operation
from morph.kernels.triton.ir.types import WIDTHS, Type
from morph.kernels.triton.lowering.kernel import Kernel, lowers
from morph.kernels.triton.lowering.values import Value, flat

DENSE = re.compile(r"dense<(.*)>", re.DOTALL)
NUMBER = re.compile(r"true|false|0x[0-9A-Fa-f]+|-?[\d.]+(?:e[+-]?\d+)?")


@lowers("arith.constant")
def _constant(kernel: Kernel, operation: Operation) -> None:
    type = operation.outputs[0]
    match = DENSE.fullmatch(operation.words)
    text = match[1] if match else operation.words
    if text.startswith(("[", '"')):
        kernel.set(operation.results[0], _table(kernel, type, text))
        return
    number = literal(type, text)
    kernel.set(operation.results[0], Value(type, lambda index: number, 0, True))


@lowers("ub.poison")
def _poison(kernel: Kernel, operation: Operation) -> None:
    type = operation.outputs[0]
    kernel.set(operation.results[0], Value(type, lambda index: zero(type), 0, True))


def zero(type: Type) -> str:
    """Return the C++ expression of a type's zero."""
    return f"{type.c_type}(0.f)" if type.is_float else f"({type.c_type})0"


def literal(type: Type, text: str) -> str:
    """Return the C++ expression of a number as TTIR spells it."""
    if text in ("true", "false"):
        return text
    if text.startswith("0x") and type.is_float:
        return _bits(type, int(text, 16))
    if type.is_float:
        return text if type.element == "f64" else f"{type.c_type}({text}f)"
    value = int(text, 0)
    if value == -(1 << 63):
        return "std::numeric_limits<int64_t>::min()"
    return f"({type.c_type}){value}LL"


def _bits(type: Type, pattern: int) -> str:
    width = WIDTHS.get(type.element, 8)
    return f"bits<{type.c_type}>(uint{width}_t({pattern}ull))"


def _table(kernel: Kernel, type: Type, text: str) -> Value:
    numbers = NUMBER.findall(text)
    if text.startswith('"') or len(numbers) != type.size:
        raise UnsupportedOperationError("arith.constant", "a table of bytes is not lowered")
    name = kernel.writer.name("t")
    elements = ", ".join(literal(type, number) for number in numbers)
    kernel.writer.write(f"static const {type.c_type} {name}[{type.size}] = {{{elements}}};")
    return Value(type, lambda index: f"{name}[{flat(index, type.shape or ())}]", 1)
