"""Arithmetic of integers and of floating-point numbers."""

from __future__ import annotations

from morph.kernels.ptx.calls import DIRECTIONS, SYMBOLS, Call, of_type, translates
from morph.kernels.ptx.errors import UnsupportedInstructionError
from morph.kernels.ptx.registers import Type


def _floating(call: Call, function: str, *, approximate: bool = False) -> str:
    """Return a function of floating-point numbers, or of the two in each register."""
    call.only({"ftz", "sat", *DIRECTIONS, *(("approx", "full") if approximate else ())})
    type, operands = _operands(call)
    if "ftz" in call.words and type.name not in ("f32", "f16", "f16x2", "f32x2"):
        raise call.refusal(f".ftz of .{type.name} is not translated")
    modifiers = int("ftz" in call.words) | 2 * ("sat" in call.words)
    direction = next((DIRECTIONS[word] for word in call.words if word in DIRECTIONS), "")
    if type.is_pair:
        values = [f"x{number}" for number in range(len(operands))]
        lanes = ", ".join(f"auto {value}" for value in values)
        one = _computed(type, function, modifiers, direction, values)
        whole = f"morph_ptx::pair<{type.c_type}>([]({lanes}) {{ return {one}; }}, {', '.join(operands)})"
    else:
        whole = _computed(type, function, modifiers, direction, operands)
    return f"morph_ptx::apart({whole})" if "rn" in call.words and function == "mul" else whole


def _operands(call: Call) -> tuple[Type, list[str]]:
    """Return the type of an operation and its operands; beside the last those of float32 may be halves."""
    if not call.types[1:]:
        return call.type, call.sources()
    names = [each.name for each in call.types]
    if names not in (["f32", "f16"], ["f32", "bf16"]) or call.instruction.name not in ("add", "sub", "fma"):
        raise call.refusal("this form is not translated")
    call.only({"sat", *DIRECTIONS})
    *halves, last = call.instruction.operands[1:]
    widened = [
        f"morph_ptx::widened_bits<{call.type.c_type}>({call.read(each, call.type)})" for each in halves
    ]
    return call.types[0], [*widened, call.read(last, call.types[0])]


def _computed(type: Type, function: str, modifiers: int, direction: str, operands: list[str]) -> str:
    lanes = [f"auto x{number}" for number in range(len(operands))]
    names = [each.removeprefix("auto ") for each in lanes]
    compute = f"[]({', '.join(lanes)}) {{ return morph_ptx::{function}({', '.join(names)}); }}"
    if direction and type.name not in ("f32", "f64"):
        raise UnsupportedInstructionError(f".{type.name}", "halves are rounded to the nearest only")
    how = (
        f"directed<{type.c_type}, {modifiers}, {direction}>"
        if direction
        else f"floating<{type.c_type}, {modifiers}>"
    )
    return f"morph_ptx::{how}({compute}, {', '.join(operands)})"


@translates("add", "sub")
def _sum(call: Call) -> str:
    type, name = call.type, call.instruction.name
    if type.is_float or type.is_pair:
        return _floating(call, name)
    call.only({"sat"})
    a, b = call.sources()
    if "sat" in call.words:
        wide = f"__int128({type.c_type}({a})) {SYMBOLS[name]} __int128({type.c_type}({b}))"
        return f"morph_ptx::clamped<{type.c_type}>({wide})"
    return of_type(type, f"{a} {SYMBOLS[name]} {b}")


@translates("mul", "mad")
def _product(call: Call) -> str:
    type = call.type
    if type.is_float or type.is_pair:
        return _floating(call, "fma" if call.instruction.name == "mad" else "mul")
    call.only({"lo", "hi", "wide"})
    a, b = call.sources()[:2]
    of, found = type, product(call, a, b)
    if "wide" in call.words:
        of = Type("", "", 2 * type.width)
        found = of_type(of, f"morph_ptx::wide_product<{type.c_type}>({a}, {b})")
    if call.instruction.name == "mul":
        return found
    return of_type(of, f"{found} + {call.read(call.instruction.operands[3], of)}")


def product(call: Call, a: str, b: str) -> str:
    """Return the lower half of a product of integers, or the upper one where an instruction asks for it."""
    if "hi" in call.words:
        return f"morph_ptx::high_product<{call.type.c_type}>({a}, {b})"
    return of_type(call.type, f"uint64_t({a}) * {b}")


@translates("fma")
def _fused(call: Call) -> str:
    return _floating(call, "fma")


@translates("div")
def _quotient(call: Call) -> str:
    if call.type.is_float:
        return _floating(call, "div", approximate=True)
    call.only(())
    return f"morph_ptx::quotient<{call.type.c_type}>({', '.join(call.sources())})"


@translates("rem")
def _remainder(call: Call) -> str:
    call.only(())
    return f"morph_ptx::remainder<{call.type.c_type}>({', '.join(call.sources())})"


@translates("sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh")
def _function(call: Call) -> str:
    return _floating(call, call.instruction.name, approximate=True)


@translates("max", "min")
def _choice(call: Call) -> str:
    name, type = call.instruction.name, call.type
    if type.is_float or type.is_pair:
        words = call.words - {"NaN"}
        plain = Call(call.instruction, call.types, words, call.read)
        return _floating(plain, f"{name}_nan" if "NaN" in call.words else name)
    call.only(())
    function = "larger" if name == "max" else "smaller"
    return f"morph_ptx::{function}<{type.c_type}>({', '.join(call.sources())})"


@translates("neg", "abs")
def _sign(call: Call) -> str:
    call.only({"ftz"})
    name, type, (a,) = call.instruction.name, call.type, call.sources()
    if type.is_float or type.is_pair:
        which = "negated" if name == "neg" else "magnitude"
        function = f"morph_ptx::{which}<{type.c_type}, {int('ftz' in call.words)}>"
        if not type.is_pair:
            return f"{function}({a})"
        return f"morph_ptx::pair<{type.c_type}>([](auto x) {{ return {function}(x); }}, {a})"
    negative = of_type(type, f"0 - {a}")
    return negative if name == "neg" else f"({type.c_type}({a}) < 0 ? {negative} : {a})"


@translates("copysign")
def _copied_sign(call: Call) -> str:
    call.only(())
    return f"morph_ptx::copysign<{call.type.c_type}>({', '.join(call.sources())})"
