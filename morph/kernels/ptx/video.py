"""Sums and choices of bytes and halves of registers, with a second operation on a third number."""

from __future__ import annotations

from morph.kernels.ptx.calls import WORD, Call, of_type, translates
from morph.kernels.ptx.registers import Type

_PARTS = {"": (32, 0), "h0": (16, 0), "h1": (16, 16), **{f"b{n}": (8, 8 * n) for n in range(4)}}
# all numbers have 64 bits, so that nothing is lost before the end
_OPERATIONS = {
    "add": "({} + {})",
    "sub": "({} - {})",
    "absdiff": "int64_t(std::abs({} - {}))",
    "min": "int64_t(morph_ptx::smaller<int64_t>({}, {}))",
    "max": "int64_t(morph_ptx::larger<int64_t>({}, {}))",
}


@translates(*(f"v{name}" for name in _OPERATIONS))
def _video(call: Call) -> str:
    call.only({"sat", "add", "min", "max"})
    if [type.width for type in call.types] != [32, 32, 32]:
        raise call.refusal("this form is not translated")
    of, *types = call.types
    given = call.instruction.operands[1:]
    parts = (_part(call, *each) for each in zip(given, types, strict=False))
    found = _OPERATIONS[call.instruction.name[1:]].format(*parts)
    if "sat" in call.words:
        found = f"int64_t({of.c_type}(morph_ptx::clamped<{of.c_type}>({found})))"
    for second in call.words - {"sat"}:
        found = _OPERATIONS[second].format(found, _part(call, given[2], of))
    return of_type(of, found)


def _part(call: Call, operand: str, type: Type) -> str:
    """Return a register, or the byte or half of it that its selector names, as a number."""
    name, _, selector = operand.partition(".")
    if selector not in _PARTS:
        raise call.refusal(f".{selector} is not translated")
    width, place = _PARTS[selector]
    return f"int64_t({'' if type.is_signed else 'u'}int{width}_t({call.read(name, WORD)} >> {place}))"
