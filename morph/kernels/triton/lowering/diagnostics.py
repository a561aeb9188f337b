"""Printing and assertions."""

from __future__ import annotations

import re

from morph.kernels.triton.ir.operations import Operation
from morph.kernels.triton.lowering.kernel import Kernel, lowers

STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
BYTE = re.compile(r"\\([0-9A-Fa-f]{2})")


@lowers("tt.assert")
def _assert(kernel: Kernel, operation: Operation) -> None:
    condition = kernel.value(operation.operands[0])
    message = _string(operation.words)
    writer = kernel.writer
    with writer.loops(condition.type.shape or ()) as index:
        writer.write(f"if (!{writer.at(condition, index)}) stop({message}, instance);")


@lowers("tt.print")
def _print(kernel: Kernel, operation: Operation) -> None:
    prefix, writer = _string(operation.words), kernel.writer
    signs = operation.integers("isSigned") if "isSigned" in operation.attributes else []
    base, operands = "true" if operation.flag("hex") else "false", len(operation.operands)
    if not operation.operands:
        writer.write(f"print_line(instance, {prefix});")
    for number, value in enumerate(kernel.operands(operation)):
        signed = "true" if not signs or signs[number] else "false"
        with writer.loops(value.type.shape or ()) as index:
            places = "{" + ", ".join(index) + "}"
            element = writer.at(value, index)
            with writer.scope(""):
                writer.write(f"const int places[] = {places if index else '{0}'};")
                writer.write(
                    f"print_element(instance, {prefix}, places, {len(index)}, {number}, {operands}, "
                    f"{element}, {base}, {signed});"
                )


def _string(words: str) -> str:
    """Return a string of TTIR as C++ spells it."""
    match = STRING.search(words)
    text = match[1] if match else ""
    return '"' + BYTE.sub(lambda byte: f"\\{int(byte[1], 16):03o}", text).replace("?", "\\?") + '"'
