"""Sums, differences and products with a carry, which one instruction leaves to the next of a text."""

from __future__ import annotations

from morph.kernels.ptx.arithmetic import product
from morph.kernels.ptx.calls import Call, translates
from morph.kernels.ptx.parsing import Instruction

CARRY = "ptx_carry"  # the variable that the statements of a text share
_READERS = ("addc", "subc", "madc")
_TYPES = ("u32", "s32", "u64", "s64")


def is_read(instruction: Instruction) -> bool:
    """Return whether an instruction takes the carry of one before it."""
    return instruction.name in _READERS


def is_written(instruction: Instruction) -> bool:
    """Return whether an instruction leaves a carry."""
    return "cc" in instruction.modifiers


@translates(*_READERS, *(f"{name}.cc" for name in ("add", "sub", "mad", *_READERS)))
def _carried(call: Call) -> str:
    name, type = call.instruction.name.removesuffix("c"), call.type
    call.only({"cc", "lo", "hi"} if name == "mad" else {"cc"})
    if type.name not in _TYPES:
        raise call.refusal(f"there is no carry of .{type.name}")
    operands = call.sources()
    terms = [product(call, *operands[:2]), operands[2]] if name == "mad" else operands
    flags = (str(each(call.instruction)).lower() for each in (is_read, is_written))
    function = "difference" if name == "sub" else "sum"
    return f"morph_ptx::carried_{function}<{type.register}, {', '.join(flags)}>({', '.join(terms)}, {CARRY})"
