"""Memory: loads, stores, atomic operations, addresses, and copies to shared memory."""

from __future__ import annotations

import re

from morph.kernels.ptx.calls import SYMBOLS, WORD, Call, acts, of_type, translates, translates_several
from morph.kernels.ptx.parsing import split
from morph.kernels.ptx.registers import Type

ADDRESS = Type("b64", "uint64_t", 64)
SHARED = ("shared", "shared::cta", "shared::cluster")
_GENERIC = ("global", "local", "const", "generic")
_ORDERS = ("weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "cta", "cluster", "gpu", "sys")
_CACHES = ("ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc")
_LEVEL = re.compile(r"L[12]::\w+")
HINT = "L2::cache_hint"  # its policy is the last operand
_VECTOR = re.compile(r"v(\d)")
_BETWEEN = re.compile(r"\[\s*([\w%$]+)\s*(?:\+\s*(-?\w+))?\s*\]")
_ATOMICS = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")


def address(call: Call, operand: str, space: str) -> str:
    """Return the pointer that an operand in brackets is, in a space: ``shared``, or another."""
    match = _BETWEEN.fullmatch(operand)
    if match is None:
        raise call.refusal(f"the address {operand} is not translated")
    if space in SHARED:
        call.of_block()
        offset = f" + {call.read(match[2], WORD)}" if match[2] else ""
        return f"::morph_cuda::shared({call.read(match[1], WORD)}{offset})"
    offset = f" + {call.read(match[2], ADDRESS)}" if match[2] else ""
    return f"reinterpret_cast<unsigned char*>({call.read(match[1], ADDRESS)}{offset})"


def space_of(call: Call) -> str:
    """Return the space that an instruction names, or the generic one."""
    return next((word for word in call.words if word in SHARED or word in _GENERIC), "generic")


def _elements(call: Call) -> int:
    """Return how many registers a load or store has; refuse modifiers that are not understood."""
    vectors = [int(match[1]) for word in call.words if (match := _VECTOR.fullmatch(word))]
    levels = {word for word in call.words if _LEVEL.fullmatch(word) or _VECTOR.fullmatch(word)}
    call.only({*SHARED, *_GENERIC, *_ORDERS, *_CACHES, *levels})
    return vectors[0] if vectors else 1


@translates_several("ld", "ldu")
def _load(call: Call) -> str:
    count, type = _elements(call), call.type
    place = address(call, call.instruction.operands[1], space_of(call))
    of = type.register if type.is_float or type.is_pair else type.c_type  # an integer keeps its sign
    watches = call.in_block and call.words & {"volatile", "relaxed", "acquire"}
    return f"morph_ptx::{'watch' if watches else 'load'}<{of}, {count}>({place})"


@acts("st")
def _store(call: Call) -> str:
    count, type = _elements(call), call.type
    target, value = call.instruction.operands[:2]
    parts = split(value[1:-1]) if value.startswith("{") else (value,)
    if len(parts) != count:
        raise call.refusal(f"{count} registers are expected")
    registers = ", ".join(call.read(part, type) for part in parts)
    place = address(call, target, space_of(call))
    return f"morph_ptx::store<{type.register}, {count}>({place}, {{{registers}}})"


@translates("atom")
def _exchanged(call: Call) -> str:
    return _atomic(call, *call.instruction.operands[1:])


@acts("red")
def _reduced(call: Call) -> str:
    return _atomic(call, *call.instruction.operands)


def _atomic(call: Call, place: str, *values: str) -> str:
    call.of_block()
    call.only({*SHARED, *_GENERIC, *_ORDERS, *_ATOMICS, "noftz"})
    operation = next((word for word in call.instruction.modifiers if word in _ATOMICS), "")
    if not operation:
        raise call.refusal("this instruction is not translated")
    if operation in SYMBOLS.keys() - {"add"}:
        operation += "_"  # their names are C++'s own
    target = address(call, place, space_of(call))
    operands = ", ".join(call.read(value, call.type) for value in values)
    function = f"morph_ptx::Atomic<{call.type.c_type}, {str(call.type.is_pair).lower()}>::{operation}"
    return f"{function}({target}, {operands})"


@translates("cvta")
def _converted(call: Call) -> str:
    """Return an address of one space in the generic one, or back (``.to``)."""
    call.only({"to", *SHARED, *_GENERIC})
    source = call.instruction.operands[1]
    if space_of(call) not in SHARED:
        return call.read(source, call.type)
    call.of_block()
    if "to" in call.words:
        return of_type(
            call.type, f"::morph_cuda::shared_address(reinterpret_cast<void*>({call.read(source, ADDRESS)}))"
        )
    return of_type(call.type, f"reinterpret_cast<uintptr_t>(::morph_cuda::shared({call.read(source, WORD)}))")


@acts("fence", "membar")
def _fenced(call: Call) -> str:
    """Return nothing, or between blocks what lets the others of the block write first what is waited for."""
    return "::__threadfence()" if call.in_block and call.words & {"gpu", "gl", "sys"} else ""


@acts("cp")
def _copied(call: Call) -> str:
    """Return a copy to shared memory, which is made when its group is waited for."""
    if call.instruction.modifiers[:1] != ("async",) or call.words & {"bulk", "mbarrier"}:
        raise call.refusal("this instruction is not translated")
    call.of_block()
    groups = call.words & {"commit_group", "wait_group", "wait_all"}
    return _group_of_copies(call, *groups) if groups else _one_copy(call)


def _group_of_copies(call: Call, what: str) -> str:
    ends, waits = "::morph_cuda::end_group_of_copies()", "::morph_cuda::wait_for_copies"
    if what == "wait_group":
        return f"{waits}({call.read(call.instruction.operands[0], WORD)})"
    return ends if what == "commit_group" else f"({ends}, {waits}(0))"


def _one_copy(call: Call) -> str:
    """Return a copy whose last bytes may be 0: all but as many as the fourth operand says."""
    levels = {word for word in call.words if _LEVEL.fullmatch(word)}
    call.only({"async", "ca", "cg", "global", *SHARED, *levels})
    operands = call.instruction.operands[: -1 if HINT in levels else None]
    target, source = address(call, operands[0], "shared"), address(call, operands[1], "global")
    size = call.read(operands[2], WORD)
    zeros = f"{size} - {call.read(operands[3], WORD)}" if len(operands) > 3 else "0"
    return f"::morph_cuda::copy_later({target}, {source}, {size}, {zeros})"


@translates("createpolicy")
def _policy(call: Call) -> str:
    """Return a policy of caches: there are none."""
    return "0"
