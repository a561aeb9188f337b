"""Moves, and conversions from one type to another."""

from __future__ import annotations

from morph.kernels.ptx.calls import DIRECTIONS, Call, of_type, translates
from morph.kernels.ptx.registers import Type

INTEGER_DIRECTIONS = {
    "rni": "morph_ptx::kNearest",
    "rzi": "morph_ptx::kTowardZero",
    "rmi": "morph_ptx::kDownward",
    "rpi": "morph_ptx::kUpward",
}
HALF = Type("b16", "uint16_t", 16)
SMALL_PAIRS = {"e4m3x2": "4, 3", "e5m2x2": "5, 2"}


@translates("mov")
def _moved(call: Call) -> str:
    call.only(())
    return call.sources()[0]


@translates("cvt")
def _converted(call: Call) -> str:
    small = next((word for word in call.instruction.modifiers if word in SMALL_PAIRS), "")
    return _of_small_pair(call, small) if small else _of_types(call)


def _of_small_pair(call: Call, small: str) -> str:
    """Return a conversion to two numbers of eight bits, which saturates, or from them."""
    modifiers, format = call.instruction.modifiers, SMALL_PAIRS[small]
    if modifiers[-1] == small:
        call.only({"rn", small})
        if call.type.name != "f16x2":
            raise call.refusal("this conversion is not translated")
        return f"morph_ptx::widened_pair<{format}>({call.sources(HALF)[0]})"
    call.only({"rn", "satfinite", small})
    if call.type.name not in ("f32", "f16x2") or "satfinite" not in call.words:
        raise call.refusal("this conversion is not translated")
    of = "float" if call.type.name == "f32" else "morph_ptx::f16"
    return f"morph_ptx::narrowed_pair<{format}, {of}>({', '.join(call.sources())})"


def _of_types(call: Call) -> str:
    to, source = call.types[0], call.types[-1]
    call.only({"ftz", "sat", *DIRECTIONS, *INTEGER_DIRECTIONS})
    if to.is_pair:
        return _converted_pair(call)
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


def _converted_pair(call: Call) -> str:
    to = call.types[0]
    call.only({"rn", "rz"})
    direction = "morph_ptx::kTowardZero" if "rz" in call.words else "morph_ptx::kNearest"
    high, low = (
        f"uint32_t(morph_ptx::to_floating<{to.c_type}>(double(morph_ptx::value<float>({each})), {direction}))"
        for each in call.sources(call.types[-1])
    )
    return f"({high} << 16 | {low})"
