"""The statements of C++ that a text of PTX becomes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

from morph.kernels.ptx import calls, carries
from morph.kernels.ptx.errors import UnsupportedInstructionError
from morph.kernels.ptx.parsing import Brace, Declaration, Instruction, parse, split
from morph.kernels.ptx.registers import Type, immediate, type_of

SPECIAL = {
    "%globaltimer": "morph_ptx::nanoseconds()",
    "%globaltimer_lo": "morph_ptx::nanoseconds()",
    "%clock64": "morph_ptx::nanoseconds()",
    "%clock": "morph_ptx::nanoseconds()",
    "%smid": "0u",
}
_PLACES = {"tid": "thread", "ctaid": "block", "ntid": "block_size", "nctaid": "grid_size"}
IN_BLOCK = {
    **{
        f"%{name}.{axis}": f"::morph_cuda::here().{place}.{axis}"
        for name, place in _PLACES.items()
        for axis in "xyz"
    },
    "%laneid": "::morph_cuda::lane()",
    "%warpid": "(::morph_cuda::thread_rank() / 32)",
    "%lanemask_eq": "(1u << ::morph_cuda::lane())",
    "%lanemask_lt": "((1u << ::morph_cuda::lane()) - 1)",
    "%lanemask_le": "((2u << ::morph_cuda::lane()) - 1)",
    "%lanemask_ge": "~((1u << ::morph_cuda::lane()) - 1)",
    "%lanemask_gt": "~((2u << ::morph_cuda::lane()) - 1)",
}
SINK = "_"


class Translation:
    """The translation of one text.

    Args:
        operands: As ``translate`` takes them.
        in_block: As ``translate`` takes it.
    """

    def __init__(self, operands: Mapping[str, tuple[str, int]], in_block: bool) -> None:
        self._in_block = in_block
        self._special = {**SPECIAL, **(IN_BLOCK if in_block else {})}
        around = {name: (variable, Type("", "", width)) for name, (variable, width) in operands.items()}
        self._scopes = [around, {}]
        self._numbers = itertools.count()
        self._lines: list[str] = []
        self._has_carry = False

    def lines(self, text: str) -> list[str]:
        """Return the statements of a text."""
        for statement in parse(text):
            if isinstance(statement, Brace):
                self._brace(statement)
            elif isinstance(statement, Declaration):
                self._declare(statement)
            else:
                self._translate(statement)
        if len(self._scopes) != 2:
            raise UnsupportedInstructionError("{", "its brace is not closed")
        return self._lines

    def _brace(self, brace: Brace) -> None:
        if brace.opens:
            self._scopes.append({})
        elif len(self._scopes) > 2:
            self._scopes.pop()
        else:
            raise UnsupportedInstructionError("}", "its brace was not opened")

    def _declare(self, declaration: Declaration) -> None:
        type = type_of(declaration.type)
        if type is None:
            raise UnsupportedInstructionError(f".reg .{declaration.type}", "registers have no such type")
        for name in declaration.names:
            variable = f"ptx_{next(self._numbers)}"
            self._scopes[-1][name] = variable, type
            self._lines.append(f"{type.register} {variable} = 0;")

    def _translate(self, instruction: Instruction) -> None:
        if instruction.name in calls.NOTHING:
            return
        self._follow_carry(instruction)
        call = calls.understood(instruction, self._read, self._in_block)
        statement = self._statement(call)
        guard = self._read(instruction.guard, calls.PREDICATE) if instruction.guard else ""
        self._lines.append(
            f"if ({'!' if instruction.negated else ''}{guard}) {statement}" if guard else statement
        )

    def _follow_carry(self, instruction: Instruction) -> None:
        """Declare the carry that an instruction leaves; between texts it is not kept."""
        if carries.is_read(instruction) and not self._has_carry:
            reason = "no instruction before it in its asm leaves a carry"
            raise UnsupportedInstructionError(instruction.text, reason)
        if carries.is_written(instruction) and not self._has_carry:
            self._has_carry = True
            self._lines.insert(0, f"bool {carries.CARRY} = false;")

    def _statement(self, call: calls.Call) -> str:
        name, operands = call.instruction.name, call.instruction.operands
        if name in calls.ACTIONS:
            return f"{calls.result(call)};"
        if not operands:
            raise call.refusal("this instruction is not translated")
        return self._written(call, calls.result(call))

    def _written(self, call: calls.Call, result: str) -> str:
        target = call.instruction.operands[0]
        names = split(target[1:-1]) if target.startswith("{") else tuple(target.split("|"))
        if call.instruction.name in calls.SEVERAL:
            parts = (self._assigned(name, f"whole[{number}]") for number, name in enumerate(names))
            return f"{{ auto whole = {result}; {' '.join(parts)} }}"
        if target.startswith("{"):
            return self._unpacked(call, names, result)
        if len(names) == 1:
            return self._assigned(target, result)
        if call.words & {"and", "or", "xor"}:
            raise call.refusal("a second predicate beside a third is not translated")
        opposite = self._assigned(names[1], f"!{result}")
        return f"{{ {self._assigned(names[0], result)} {opposite} }}"

    def _assigned(self, name: str, result: str) -> str:
        name = name.strip()
        if name == SINK:
            return f"(void)({result});"
        variable, type = self._register(name)
        return f"{variable} = {type.register}({result});"

    def _unpacked(self, call: calls.Call, names: tuple[str, ...], result: str) -> str:
        width = _part(call.type, names).width
        parts = (self._assigned(name, f"whole >> {number * width}") for number, name in enumerate(names))
        return f"{{ {call.type.register} whole = {result}; {' '.join(parts)} }}"

    def _read(self, operand: str, type: Type) -> str:
        if operand.startswith("{"):
            return self._packed(split(operand[1:-1]), type)
        if operand.startswith("!"):
            return f"!{self._read(operand[1:].strip(), type)}"
        if operand in self._special:
            return f"{type.register}({self._special[operand]})"
        constant = immediate(operand, type)
        if constant is not None:
            return constant
        variable, own = self._register(operand)
        if (own.width == 1) != (type.width == 1):
            raise UnsupportedInstructionError(operand, "a predicate is no number")
        return f"{type.register}({variable})"

    def _packed(self, operands: tuple[str, ...], type: Type) -> str:
        part = _part(type, operands)
        shifted = (
            f"{type.register}({self._read(each, part)}) << {n * part.width}"
            for n, each in enumerate(operands)
        )
        return f"({' | '.join(shifted)})"

    def _register(self, name: str) -> tuple[str, Type]:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        kind = (
            "this register is not there"
            if re.fullmatch(r"[\w$%.]+", name)
            else "this operand is not translated"
        )
        raise UnsupportedInstructionError(name, kind)


def _part(type: Type, names: tuple[str, ...]) -> Type:
    """Return the type of each register of a vector that has the bits of a type together."""
    part = type_of(f"b{type.width / len(names):g}") if names else None
    if part is None:
        raise UnsupportedInstructionError(f"{{{', '.join(names)}}}", f".{type.name} has no such parts")
    return part
