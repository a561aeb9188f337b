"""What morph's PTX does not have."""

from __future__ import annotations

from morph.base.errors import MorphError


class UnsupportedInstructionError(MorphError, NotImplementedError):
    """A text of PTX holds what is not translated.

    Attributes:
        instruction: What it holds, as it spells it.
        reason: Why it is not translated.
    """

    def __init__(self, instruction: str, reason: str) -> None:
        super().__init__(f"{instruction}: {reason}")
        self.instruction, self.reason = instruction, reason

    def __reduce__(self) -> tuple[object, ...]:
        return UnsupportedInstructionError, (self.instruction, self.reason)
