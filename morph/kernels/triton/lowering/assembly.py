"""Inline assembly in PTX (`tl.inline_asm_elementwise`), for one element or several in each register."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from morph.kernels import ptx
from morph.kernels.triton.errors import UnsupportedOperationError
from morph.kernels.triton.ir.operations import Operation
from morph.kernels.triton.ir.types import WIDTHS, Type
from morph.kernels.triton.lowering.kernel import Kernel, lowers
from morph.kernels.triton.lowering.values import Stored

TEXT = re.compile(r'elementwise_inline_asm\s+"((?:[^"\\]|\\.)*)"')
ESCAPE = re.compile(r"\\([0-9A-F]{2}|.)")
REGISTERS = {"b": 8, "c": 16, "h": 16, "r": 32, "f": 32, "l": 64, "d": 64}


@lowers("tt.elementwise_inline_asm")
def _assembly(kernel: Kernel, operation: Operation) -> None:
    """Lower to a loop over groups of elements that lie side by side, as many as ``pack`` says."""
    pack, widths = operation.integer("packed_element"), _widths(operation)
    kernel.headers.append("assembly.h")
    values = [kernel.stored(value) for value in kernel.operands(operation)]
    results = [kernel.writer.variable(type) for type in operation.outputs]
    groups = max(1, operation.outputs[0].size // pack)
    with kernel.writer.scope(f"for (int n = 0; n < {groups}; ++n)"):
        outputs = list(_registers(results, pack))
        inputs = list(_registers(values, pack))
        names = [f"asm_{number}" for number in range(len(outputs) + len(inputs))]
        if len(names) != len(widths):
            raise UnsupportedOperationError(
                operation.name, f"its constraints name {len(widths)} registers of {len(names)}"
            )
        for name, width, elements in zip(names, widths, [[]] * len(outputs) + inputs, strict=True):
            kernel.writer.write(f"uint{width}_t {name} = {_packed(elements, width)};")
        operands = {f"${n}": (name, width) for n, (name, width) in enumerate(zip(names, widths, strict=True))}
        for line in _translated(operation, operands):
            kernel.writer.write(line)
        for name, elements in zip(names, outputs, strict=False):
            for element, type, shift in elements:
                kernel.writer.write(f"{element} = element_of<{type.c_type}>({name} >> {shift});")
    for name, result in zip(operation.results, results, strict=True):
        kernel.set(name, result)


Element = tuple[str, Type, int]


def _registers(values: Sequence[Stored], pack: int) -> Iterator[list[Element]]:
    """Yield the elements of each register, with their first bits: Triton packs those of less than 32 bits."""
    for value in values:
        width = _width(value.type)
        together = max(1, min(32 // width, pack))
        for first in range(0, pack, together):
            places = [f"n * {pack} + {number}" for number in range(first, first + together)]
            elements = [
                value.name if value.type.shape is None else f"{value.name}[{place}]" for place in places
            ]
            yield [(element, value.type, number * width) for number, element in enumerate(elements)]


def _packed(elements: Sequence[Element], width: int) -> str:
    parts = [f"uint{width}_t(register_of({element})) << {shift}" for element, _, shift in elements]
    return " | ".join(parts) or "0"


def _width(type: Type) -> int:
    return 64 if type.is_pointer else max(8, WIDTHS.get(type.element, 8))


def _widths(operation: Operation) -> list[int]:
    """Return the widths of the registers that the constraints name, the results' first."""
    constraints = operation.attributes["constraints"].strip('"').split(",")
    letters = [each.strip().lstrip("=&+") for each in constraints if not each.strip().startswith("~")]
    unknown = [each for each in letters if each not in REGISTERS]
    if unknown:
        raise UnsupportedOperationError(operation.name, f"its constraint {unknown[0]!r} is no register")
    return [REGISTERS[each] for each in letters]


def _translated(operation: Operation, operands: dict[str, tuple[str, int]]) -> list[str]:
    match = TEXT.search(operation.text)
    assert match is not None
    text = ESCAPE.sub(lambda found: _character(found[1]), match[1]).replace("$$", "$")
    try:
        return ptx.translate(text, operands)
    except ptx.UnsupportedInstructionError as error:
        raise UnsupportedOperationError(operation.name, str(error)) from None


def _character(code: str) -> str:
    return chr(int(code, 16)) if len(code) == 2 else code
