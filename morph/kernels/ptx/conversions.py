"""Moves, and conversions from one type to another."""

from __future__ import annotations

import re

from morph.kernels.ptx.calls import DIRECTIONS, WORD, Call, of_type, translates
from morph.kernels.ptx.registers import Type

INTEGER_DIRECTIONS = {
    "rni": "morph_ptx::kNearest",
    "rzi": "morph_ptx::kTowardZero",
    "rmi": "morph_ptx::kDownward",
    "rpi": "morph_ptx::kUpward",
}
HALF = Type("b16", "uint16_t", 16)
PACKED = re.compile(r"pack\.sat\.([us])(?:(16)\.s32|([248])\.s32\.b32)")
SMALL_PAIRS = {"e4m3x2": "4, 3", "e5m2x2": "5, 2"}


@translates("mov")
def _moved(call: Call) -> str:
    call.only(())
    return call.sources()[0]


@translates("cvt")
def _converted(call: Call) -> str:
    if "pack" in call.words:
        return _packed(call)
    small = next((word for word in call.instruction.modifiers if word in SMALL_PAIRS), "")
    return _of_small_pair(call, small) if small else _of_types(call)


def _packed(call: Call) -> str:
    """Return two integers within limits, the first above, and above both the lower bits of a third."""
    form, sources = PACKED.fullmatch(".".join(call.instruction.modifiers)), call.sources(WORD)
    if form is None or len(sources) != (2 if form[2] else 3):
        raise call.refusal("this conversion is not translated")
    has_sign, width = str(form[1] == "s").lower(), form[2] or form[3]
    return f"morph_ptx::packed<{has_sign}, {width}>({', '.join(sources)})"


def _of_small_pair(call: Call, small: str) -> str:
    """Return a conversion to two numbers of eight bits, which saturates, or from them."""
    modifiers, format, clips = call.instruction.modifiers, SMALL_PAIRS[small], _clips(call)
    if modifiers[-1] == small:
        call.only({"rn", "relu", small})
        if call.type.name != "f16x2":
            raise call.refusal("this conversion is not translated")
        return f"morph_ptx::widened_pair<{format}, {clips}>({call.sources(HALF)[0]})"
    call.only({"rn", "satfinite", "relu", small})
    if call.type.name not in ("f32", "f16x2") or "satfinite" not in call.words:
        raise call.refusal("this conversion is not translated")
    of = call.type.part.c_type
    return f"morph_ptx::narrowed_pair<{format}, {of}, {clips}>({', '.join(call.sources())})"


def _clips(call: Call) -> str:
    return str("relu" in call.words).lower()


def _of_types(call: Call) -> str:
    to, source = call.types[0], call.types[-1]
    if to.is_pair or call.words & {"relu", "satfinite"}:
        return _to_halves(call)
    call.only({"ftz", "sat", *DIRECTIONS, *INTEGER_DIRECTIONS})
    (a,) = call.sources(source)
    direction = next((INTEGER_DIRECTIONS[word] for word in call.words if word in INTEGER_DIRECTIONS), "")
    rounding = (
        next((DIRECTIONS[word] for word in call.words if word in DIRECTIONS), "") or "morph_ptx::kNearest"
    )
    if not source.is_float:
        x = f"{source.c_type}({a})"
        if to.is_float:
            call.only(DIRECTIONS)
            return f"morph_ptx::to_floating<{to.c_type}>((long double){x}, {rounding})"
        return f"morph_ptx::clamped<{to.c_type}>({x})" if "sat" in call.words else of_type(to, x)
    x = f"double(morph_ptx::read<{source.c_type}>({a}, {int('ftz' in call.words)}))"
    if direction:
        x = f"morph_ptx::to_integer({x}, {direction})"
    if not to.is_float:
        return f"morph_ptx::to_whole<{to.c_type}>({x})"
    if "sat" in call.words:
        x = f"std::fmin(std::fmax({x}, 0.0), 1.0)"
    converted = f"morph_ptx::to_floating<{to.c_type}>({x}, {rounding})"
    return f"morph_ptx::flushed<{to.c_type}>({converted}, {int('ftz' in call.words)})"


def _to_halves(call: Call) -> str:
    """Return the half that a number becomes, or the pair of two, the first of them above."""
    call.only({"rn", "rz", "relu", "satfinite"})
    of = call.types[0].part
    if call.type.name != "f32" or of.name not in ("f16", "bf16"):
        raise call.refusal("this conversion is not translated")
    direction = "morph_ptx::kTowardZero" if "rz" in call.words else "morph_ptx::kNearest"
    how = f"{direction}, {_clips(call)}, {str('satfinite' in call.words).lower()}"
    parts = (f"uint32_t(morph_ptx::to_half<{of.c_type}>({each}, {how}))" for each in call.sources())
    return f"({' << 16 | '.join(parts)})"
