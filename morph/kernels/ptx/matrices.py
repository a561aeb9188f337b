"""Matrices of a warp: products on tensor cores, and their fragments from and to shared memory."""

from __future__ import annotations

import re

from morph.kernels.ptx.calls import WORD, Call, acts, translates_several
from morph.kernels.ptx.memory import address
from morph.kernels.ptx.parsing import split
from morph.kernels.ptx.registers import Type, type_of

# The C++ type of a factor's element, and its bits
FACTORS = {
    "f16": ("morph_ptx::f16", 16),
    "bf16": ("morph_ptx::bf16", 16),
    "tf32": ("morph_ptx::tf32", 32),
    "f64": ("double", 64),
    "s8": ("int8_t", 8),
    "u8": ("uint8_t", 8),
    "s4": ("morph_ptx::s4", 4),
    "u4": ("morph_ptx::u4", 4),
    "e4m3": ("morph_ptx::e4m3", 8),
    "e5m2": ("morph_ptx::e5m2", 8),
}
SUMS = {"f16": "morph_ptx::f16", "f32": "float", "f64": "double", "s32": "int32_t"}
_SHAPE = re.compile(r"m(\d+)n8k(\d+)")


@translates_several("mma")
def _multiplied(call: Call) -> str:
    """Return A * B + C of ``mma.sync.aligned.SHAPE.row.col.D.A.B.C``."""
    call.of_block()
    modifiers = [
        each for each in call.instruction.modifiers if each not in ("sync", "aligned", "row", "satfinite")
    ]
    shape, second, *types = modifiers
    found = _SHAPE.fullmatch(shape)
    if found is None or second != "col" or len(types) != 4 or types[0] != types[3]:
        raise call.refusal("this form of mma is not translated")
    result, left, right, _ = types
    rows, depth = int(found[1]), int(found[2])
    if left not in FACTORS or right not in FACTORS or result not in SUMS or not _is_there(rows, depth, left):
        raise call.refusal("this form of mma is not translated")
    lists = [split(each[1:-1]) for each in call.instruction.operands[1:4]]
    wanted = [rows * depth * FACTORS[left][1], 8 * depth * FACTORS[right][1], rows * 8 * _bits(result)]
    kinds = [_register(left), _register(right), _register(result)]
    for registers, bits, kind in zip(lists, wanted, kinds, strict=True):
        if len(registers) * kind.width * 32 != bits:
            raise call.refusal(f"a fragment of {bits // (kind.width * 32)} registers is expected")
    values = [
        "{" + ", ".join(call.read(register, kind) for register in registers) + "}"
        for registers, kind in zip(lists, kinds, strict=True)
    ]
    of = f"{rows}, {depth}, {FACTORS[left][0]}, {FACTORS[right][0]}, {SUMS[result]}"
    saturates = str("satfinite" in call.words).lower()
    return f"morph_ptx::Product<{of}>::of({', '.join(values)}, {saturates})"


def _is_there(rows: int, depth: int, left: str) -> bool:
    """Return whether there is such a shape for a type of element."""
    bits = FACTORS[left][1]
    if left == "f64":
        return (rows, depth) == (8, 4)
    if rows == 8:
        return bits <= 8 and depth * bits == 128
    return rows == 16 and depth * bits in (128, 256)


def _bits(type: str) -> int:
    return int(type[1:])


def _register(type: str) -> Type:
    found = type_of("b64" if type == "f64" else "b32")
    assert found
    return found


@translates_several("ldmatrix")
def _loaded(call: Call) -> str:
    count = _count(call)
    place = address(call, call.instruction.operands[1], "shared")
    return f"morph_ptx::load_matrices<{count}, {str('trans' in call.words).lower()}>({place})"


@acts("stmatrix")
def _stored(call: Call) -> str:
    count = _count(call)
    target, value = call.instruction.operands
    registers = ", ".join(call.read(each, WORD) for each in split(value[1:-1]))
    place = address(call, target, "shared")
    return (
        f"morph_ptx::store_matrices<{count}, {str('trans' in call.words).lower()}>({place}, {{{registers}}})"
    )


def _count(call: Call) -> int:
    call.of_block()
    call.only({"sync", "aligned", "m8n8", "x1", "x2", "x4", "trans", "shared", "shared::cta"})
    return int(next((word[1:] for word in call.words if re.fullmatch(r"x\d", word)), "1"))
