"""Comparisons, and the choice by what they found."""

from __future__ import annotations

from morph.kernels.ptx.calls import PREDICATE, SYMBOLS, Call, of_type, translates
from morph.kernels.ptx.registers import Type

RELATIONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
UNSIGNED_RELATIONS = {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
OPPOSITES = {"equ": "!=", "neu": "==", "ltu": ">=", "leu": ">", "gtu": "<=", "geu": "<"}
JOINTS = ("and", "or", "xor")
WHOLE = ("u32", "s32")
# The results of `set` that the ISA has for a source of halves
RESULTS = {
    **dict.fromkeys(("f16", "bf16"), ("u16", "s16", *WHOLE, "f16", "bf16")),
    **{pair: (*WHOLE, pair) for pair in ("f16x2", "bf16x2")},
}
ONE = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}


@translates("selp")
def _selected(call: Call) -> str:
    call.only(())
    a, b, p = call.sources(call.type, call.type, PREDICATE)
    return f"({p} ? {a} : {b})"


@translates("slct")
def _selected_by_sign(call: Call) -> str:
    call.only(())
    of, by = call.types
    if by.name != "s32":
        raise call.refusal(f"by .{by.name} it is not translated")
    a, b, c = call.sources(of, of, by)
    return f"(int32_t({c}) >= 0 ? {a} : {b})"


@translates("setp")
def _compared(call: Call) -> str:
    if call.type.is_pair:
        raise call.refusal("comparisons of pairs are not translated")
    a, b, *other = call.sources(call.type, call.type, PREDICATE)
    return _holds(call, call.type, a, b, other)


@translates("set")
def _set(call: Call) -> str:
    """Return all bits, or the number 1, where a comparison holds, of a pair in either half."""
    to, source = _types(call)
    a, b, *other = call.sources(source, source, PREDICATE)
    if not source.is_pair:
        return f"({_holds(call, source, a, b, other)} ? {_truth(to)} : {of_type(to, '0')})"
    half, truth = source.part, _truth(to.part) if to.is_pair else "0xffffu"
    chosen = f"uint16_t({_holds(call, half, 'x', 'y', other)} ? {truth} : 0)"
    return f"morph_ptx::pair<{half.c_type}>([&](auto x, auto y) {{ return {chosen}; }}, {a}, {b})"


def _types(call: Call) -> tuple[Type, Type]:
    """Return the type of a result of ``set`` and that of its sources, which the ISA has together."""
    allowed = RESULTS.get(call.type.name, (*WHOLE, "f32", "f16", "bf16"))
    to, *sources = call.types
    if len(sources) != 1 or to.name not in allowed:
        raise call.refusal("this form of set is not translated")
    return to, sources[0]


def _truth(type: Type) -> str:
    return of_type(type, f"{ONE[type.name]:#x}u" if type.name in ONE else "-1")


def _holds(call: Call, type: Type, a: str, b: str, other: list[str]) -> str:
    """Return a comparison, joined with a predicate where there is one."""
    numbers = (*RELATIONS, *OPPOSITES, "num", "nan") if type.is_float else (*RELATIONS, *UNSIGNED_RELATIONS)
    flushes = ("ftz",) if type.name in ("f32", "f16") else ()
    call.only({*JOINTS, *flushes, *numbers})
    relation = next(word for word in call.instruction.modifiers if word not in ("ftz", *JOINTS))
    holds = _relation(relation, *(_value(call, type, relation, each) for each in (a, b)))
    joined = next((word for word in JOINTS if word in call.words), "")
    return f"({holds} {SYMBOLS[joined]} {other[0]})" if joined else holds


def _value(call: Call, type: Type, relation: str, register: str) -> str:
    if type.is_float:
        return f"double(morph_ptx::read<{type.c_type}>({register}, {int('ftz' in call.words)}))"
    return f"{type.register if relation in UNSIGNED_RELATIONS else type.c_type}({register})"


def _relation(relation: str, x: str, y: str) -> str:
    if relation in ("num", "nan"):
        return f"({'!' if relation == 'num' else ''}({x} != {x} || {y} != {y}))"
    if relation in OPPOSITES:  # true where one is no number
        return f"(!({x} {OPPOSITES[relation]} {y}) || {x} != {x} || {y} != {y})"
    symbol = {**RELATIONS, **UNSIGNED_RELATIONS}[relation]
    ordered = f" && {x} == {x} && {y} == {y}" if relation == "ne" and "double" in x else ""
    return f"({x} {symbol} {y}{ordered})"
