"""The types of PTX, and the C++ types whose bits a register holds."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from morph.kernels.ptx.errors import UnsupportedInstructionError

FLOATS = {
    "f16": ("morph_ptx::f16", 16),
    "bf16": ("morph_ptx::bf16", 16),
    "f32": ("float", 32),
    "f64": ("double", 64),
}
PAIRS = {"f16x2": "f16", "bf16x2": "bf16", "f32x2": "f32"}
STARTS = "+-.0123456789"  # of a constant
NUMBER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9]\d*)U?")
HEXADECIMAL_FLOAT = re.compile(r"0([fFdD])([0-9a-fA-F]{8}|[0-9a-fA-F]{16})")


@dataclass(frozen=True, slots=True)
class Type:
    """The type of an instruction's operands.

    Attributes:
        name: As PTX spells it, without the dot: ``u32``.
        c_type: The C++ type of a value, or of one of a pair.
        width: The bits of a register.
    """

    name: str
    c_type: str
    width: int

    @property
    def register(self) -> str:
        """The C++ type that holds the bits."""
        return "bool" if self.width == 1 else f"uint{self.width}_t"

    @property
    def is_float(self) -> bool:
        """Whether it is one floating-point number."""
        return self.name in FLOATS

    @property
    def is_pair(self) -> bool:
        """Whether a register holds two numbers."""
        return self.name in PAIRS

    @property
    def part(self) -> Type:
        """The type of one number of a pair, or the type itself."""
        part = PAIRS.get(self.name, self.name)
        return Type(part, *FLOATS[part]) if part in FLOATS else self

    @property
    def is_signed(self) -> bool:
        """Whether it is an integer with a sign."""
        return self.name[0] == "s"


def type_of(name: str) -> Type | None:
    """Return the type that PTX calls so, or None."""
    if name in FLOATS:
        return Type(name, *FLOATS[name])
    if name in PAIRS:
        c_type, width = FLOATS[PAIRS[name]]
        return Type(name, c_type, 2 * width)
    if name == "pred":
        return Type(name, "bool", 1)
    match = re.fullmatch(r"([usb])(8|16|32|64)", name)
    if match is None:
        return None
    return Type(name, f"{'' if match[1] == 's' else 'u'}int{match[2]}_t", int(match[2]))


def immediate(text: str, type: Type) -> str | None:
    """Return the bits of a constant as C++, or None if the text is none.

    Args:
        text: As PTX writes it: ``-1``, ``0x1F``, ``0f3F800000``, ``1.5``.
        type: The type of the instruction's operand.

    Raises:
        UnsupportedInstructionError: If a number with a point is given to an instruction of no such type, or
            any to one of a half, for which PTX has no constants.
    """
    if type.name in ("f16", "bf16") and text[0] in STARTS:
        reason = f"a constant of .{type.name} is not translated; mov.b16 puts its bits into a register"
        raise UnsupportedInstructionError(text, reason)
    bits = _bits(text, type)
    if bits is None:
        return None
    return f"{type.register}({bits & (1 << type.width) - 1:#x}{'ull' if type.width == 64 else 'u'})"


def _bits(text: str, type: Type) -> int | None:
    exact = HEXADECIMAL_FLOAT.fullmatch(text)
    if exact:
        single = exact[1] in "fF"
        value = struct.unpack("!f" if single else "!d", bytes.fromhex(exact[2]))[0]
        return int(exact[2], 16) if single == (type.width == 32) else _of_float(value, type)
    integer = NUMBER.fullmatch(text)
    if integer and not type.is_float:
        digits = integer[2]
        octal = digits[0] == "0" and digits[1:].isdigit()
        return int(integer[1] + digits, 8 if octal else 0)
    try:
        return _of_float(float(text), type) if text[0] in STARTS else None
    except ValueError:
        return None


def _of_float(value: float, type: Type) -> int:
    if type.name not in ("f32", "f64", "b32", "b64"):
        raise UnsupportedInstructionError(f"{value}", f"a constant of .{type.name} is written in hexadecimal")
    return int.from_bytes(struct.pack("!f" if type.width == 32 else "!d", value), "big")
