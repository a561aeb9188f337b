"""What a runtime's function returns, in the form of torch's binding of ``cudaError_t``."""

from __future__ import annotations

from typing import ClassVar, SupportsInt


class Status:
    """A status code, which equals its number and is no ``int``, as an enumeration of pybind11.

    Args:
        value: The code; 0 is ``Status.success``.
    """

    success: ClassVar[Status]

    def __init__(self, value: SupportsInt) -> None:
        self.value = int(value)

    @property
    def name(self) -> str:
        """``"success"``, or the code."""
        return "success" if self.value == 0 else f"error_{self.value}"

    def __int__(self) -> int:
        return self.value

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        return self.value == int(other) if isinstance(other, (int, Status)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"<cudaError.{self.name}: {self.value}>"


Status.success = Status(0)
