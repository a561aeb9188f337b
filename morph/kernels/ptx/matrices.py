"""Matrices of a warp: products on tensor cores, and their fragments from and to shared memory."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from morph.kernels.ptx.calls import WORD, Call, acts, translates, translates_several
from morph.kernels.ptx.memory import address
from morph.kernels.ptx.parsing import split
from morph.kernels.ptx.registers import Type

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
_FORM = re.compile(
    r"sync\.aligned\.m(?P<rows>\d+)n8k(?P<depth>\d+)\.row\.col\.(?P<sum>\w+)\.(?P<left>\w+)\.(?P<right>\w+)\.(?P=sum)"
)

# Volta's: four products of 8 by 4 by 8, each of four lanes and those 16 above them
_QUAD_PAIRS = re.compile(
    r"sync\.aligned\.m8n8k4\.(?P<left>row|col)\.(?P<right>row|col)\.(?P<sum>f16|f32)\.f16\.f16\.(?P=sum)"
)


@dataclass(frozen=True, slots=True)
class Product:
    """The form of ``mma.sync.aligned.SHAPE.row.col.D.A.B.C``.

    Attributes:
        rows: Those of A, C and D.
        depth: The columns of A, and the rows of B, which has 8 columns as C and D have.
        left: The type of A's elements.
        right: That of B's.
        sum: That of C's and D's.
    """

    rows: int
    depth: int
    left: str
    right: str
    sum: str

    @property
    def is_there(self) -> bool:
        """Whether the ISA has such a form."""
        if self.left not in FACTORS or self.right not in FACTORS or self.sum not in SUMS:
            return False
        bits = FACTORS[self.left][1]
        if self.left == "f64":
            return (self.rows, self.depth) == (8, 4)
        if self.rows == 8:
            return bits <= 8 and self.depth * bits == 128
        return self.rows == 16 and self.depth * bits in (128, 256)

    @property
    def fragments(self) -> tuple[tuple[Type, int], ...]:
        """The type and the number of a lane's registers of A, of B, and of C."""
        bits = self.rows * self.depth * FACTORS[self.left][1], 8 * self.depth * FACTORS[self.right][1]
        sizes = (*bits, self.rows * 8 * int(self.sum[1:]))
        kind = Type("b64", "uint64_t", 64) if self.left == "f64" else WORD
        return tuple((kind, size // (kind.width * 32)) for size in sizes)

    @property
    def arguments(self) -> str:
        """The arguments of the C++ template."""
        of = FACTORS[self.left][0], FACTORS[self.right][0], SUMS[self.sum]
        return f"{self.rows}, {self.depth}, {', '.join(of)}"


@translates_several("mma")
def _multiplied(call: Call) -> str:
    """Return A * B + C."""
    call.of_block()
    if pairs := _QUAD_PAIRS.fullmatch(".".join(call.instruction.modifiers)):
        by_rows = (str(pairs[side] == "row").lower() for side in ("left", "right"))
        function = f"QuadPairs<{', '.join(by_rows)}, {SUMS[pairs['sum']]}>"
        counts = (WORD, 2), (WORD, 2), (WORD, int(pairs["sum"][1:]) // 4)
        return f"morph_ptx::{function}::of({_fragments(call, counts)})"
    product = _product(call)
    saturates = str("satfinite" in call.words).lower()
    return f"morph_ptx::Product<{product.arguments}>::of({_fragments(call, product.fragments)}, {saturates})"


def _fragments(call: Call, expected: Iterable[tuple[Type, int]]) -> str:
    operands = zip(call.instruction.operands[1:4], expected, strict=True)
    return ", ".join(_fragment(call, operand, *each) for operand, each in operands)


def _product(call: Call) -> Product:
    words = [word for word in call.instruction.modifiers if word != "satfinite"]
    found = _FORM.fullmatch(".".join(words))
    if found is None:
        raise call.refusal("this form of mma is not translated")
    product = Product(int(found["rows"]), int(found["depth"]), found["left"], found["right"], found["sum"])
    if not product.is_there:
        raise call.refusal("this form of mma is not translated")
    return product


def _fragment(call: Call, operand: str, kind: Type, count: int) -> str:
    registers = split(operand[1:-1])
    if len(registers) != count:
        raise call.refusal(f"a fragment of {count} registers is expected")
    return "{" + ", ".join(call.read(register, kind) for register in registers) + "}"


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


@translates("movmatrix")
def _turned(call: Call) -> str:
    call.of_block()
    if call.instruction.modifiers != ("sync", "aligned", "m8n8", "trans", "b16"):
        raise call.refusal("this form of movmatrix is not translated")
    return f"morph_ptx::turned_matrix({call.sources(WORD)[0]})"


def _count(call: Call) -> int:
    call.of_block()
    call.only({"sync", "aligned", "m8n8", "x1", "x2", "x4", "trans", "shared", "shared::cta"})
    return int(next((word[1:] for word in call.words if re.fullmatch(r"x\d", word)), "1"))
