"""An instruction with what its modifiers say, and the translations that are registered for instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from morph.kernels.ptx.errors import UnsupportedInstructionError
from morph.kernels.ptx.parsing import Instruction
from morph.kernels.ptx.registers import Type, type_of

Read = Callable[[str, Type], str]
DIRECTIONS = {
    "rn": "",
    "rz": "morph_ptx::kTowardZero",
    "rm": "morph_ptx::kDownward",
    "rp": "morph_ptx::kUpward",
}
SYMBOLS = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}
WORD = Type("b32", "uint32_t", 32)
PREDICATE = Type("pred", "bool", 1)
NOTHING = ("prefetch", "prefetchu", "nanosleep", "griddepcontrol")


@dataclass(frozen=True, slots=True)
class Call:
    """An instruction with what its modifiers say.

    Attributes:
        instruction: The instruction.
        types: The types among its modifiers, in their order.
        words: Its other modifiers.
        read: Returns the bits of an operand as C++, in a type.
        in_block: Whether the thread is one of a block.
    """

    instruction: Instruction
    types: tuple[Type, ...]
    words: frozenset[str]
    read: Read
    in_block: bool = False

    @property
    def type(self) -> Type:
        """The last type."""
        if not self.types:
            raise self.refusal("it names no type")
        return self.types[-1]

    def sources(self, *types: Type) -> list[str]:
        """Return the operands after the first, each in a type: the last of them for those that are left."""
        given = self.instruction.operands[1:]
        chosen = [*types, *[types[-1]] * len(given)] if types else [self.type] * len(given)
        return [self.read(operand, type) for operand, type in zip(given, chosen, strict=False)]

    def only(self, words: Iterable[str]) -> None:
        """Refuse modifiers other than these."""
        others = self.words - frozenset(words)
        if others:
            raise self.refusal(f".{min(others)} is not translated")

    def of_block(self) -> None:
        """Refuse the instruction where the thread is none of a block."""
        if not self.in_block:
            raise self.refusal("it is translated in CUDA C++ only")

    def refusal(self, reason: str) -> UnsupportedInstructionError:
        """Return the error that refuses the instruction."""
        return UnsupportedInstructionError(self.instruction.text, reason)


Translation = Callable[[Call], str]
TRANSLATIONS: dict[str, Translation] = {}
ACTIONS: set[str] = set()
SEVERAL: set[str] = set()


def translates(*names: str) -> Callable[[Translation], Translation]:
    """Register what returns the C++ of instructions' results."""

    def register(function: Translation) -> Translation:
        TRANSLATIONS.update(dict.fromkeys(names, function))
        return function

    return register


def acts(*names: str) -> Callable[[Translation], Translation]:
    """Register what returns the C++ of instructions without a result; an empty one does nothing."""
    ACTIONS.update(names)
    return translates(*names)


def translates_several(*names: str) -> Callable[[Translation], Translation]:
    """Register what returns the C++ of an array of instructions' results."""
    SEVERAL.update(names)
    return translates(*names)


def understood(instruction: Instruction, read: Read, in_block: bool) -> Call:
    """Return an instruction with its modifiers sorted."""
    found = [type_of(each) for each in instruction.modifiers]
    words = [each for each, type in zip(instruction.modifiers, found, strict=True) if type is None]
    return Call(instruction, tuple(each for each in found if each), frozenset(words), read, in_block)


def result(call: Call) -> str:
    """Return the C++ of an instruction's result, the bits of its first operand.

    Raises:
        UnsupportedInstructionError: If it is not translated.
    """
    name = call.instruction.name
    translation = TRANSLATIONS.get(f"{name}.cc" if "cc" in call.words else name)
    if translation is None:
        raise call.refusal("this instruction is not translated")
    return translation(call)


def of_type(type: Type, text: str) -> str:
    """Return a C++ expression as the bits of a register."""
    return f"{type.register}({text})"
