"""Bits: logic, shifts, fields, and what is counted."""

from __future__ import annotations

from collections.abc import Iterable

from morph.kernels.ptx.calls import SYMBOLS, WORD, Call, of_type, translates
from morph.kernels.ptx.registers import Type


@translates("and", "or", "xor")
def _bitwise(call: Call) -> str:
    call.only(())
    return of_type(call.type, f" {SYMBOLS[call.instruction.name]} ".join(call.sources()))


@translates("not", "cnot")
def _complement(call: Call) -> str:
    call.only(())
    (a,) = call.sources()
    return of_type(call.type, f"{'!' if call.instruction.name == 'cnot' or call.type.width == 1 else '~'}{a}")


@translates("shl", "shr")
def _shift(call: Call) -> str:
    call.only(())
    type, name = call.type, call.instruction.name
    a, by = call.sources(type, WORD)
    of = type.c_type if name == "shr" else type.register
    return f"morph_ptx::{name}<{of}>({a}, {by})"


@translates("shf")
def _funnel(call: Call) -> str:
    call.only({"l", "r", "wrap", "clamp"})
    left, clamps = (str(word in call.words).lower() for word in ("l", "clamp"))
    return f"morph_ptx::funnel({', '.join(call.sources())}, {left}, {clamps})"


@translates("lop3", "bfi")
def _fields(call: Call) -> str:
    call.only(())
    name, type = call.instruction.name, call.type
    words = call.sources(type, type, type, WORD) if name == "lop3" else call.sources(type, type, WORD)
    return f"morph_ptx::{name}<{type.register}>({', '.join(words)})"


@translates("bfe", "bfind", "popc", "clz", "brev")
def _counted(call: Call) -> str:
    name, type = call.instruction.name, call.type
    call.only({"shiftamt"} if name == "bfind" else ())
    of = type.c_type if name in ("bfe", "bfind") else type.register
    more = [str("shiftamt" in call.words).lower()] if name == "bfind" else []
    return f"morph_ptx::{name}<{of}>({', '.join([*call.sources(type, WORD), *more])})"


@translates("prmt")
def _permuted(call: Call) -> str:
    call.only(())
    return f"morph_ptx::prmt({', '.join(call.sources())})"


@translates("dp4a")
def _dot(call: Call) -> str:
    call.only(())
    return f"morph_ptx::dp4a<{_bytes(call.types)}>({', '.join(call.sources(WORD))})"


@translates("vabsdiff4")
def _differences(call: Call) -> str:
    call.only({"add"})
    if "add" not in call.words:
        raise call.refusal("it is translated with .add only")
    return f"morph_ptx::vabsdiff4<{_bytes(call.types[1:])}>({', '.join(call.sources(WORD))})"


def _bytes(types: Iterable[Type]) -> str:
    return ", ".join("int8_t" if type.is_signed else "uint8_t" for type in types)
