"""What a runtime's function returns, in the form of torch's binding of ``cudaError_t``."""

from __future__ import annotations

from typing import ClassVar, SupportsInt


class Status:
    """A status code, which equals its number and is no ``int``, as an enumeration of pybind11.

    Args:
        value: The code; 0 is ``Status.success``.

    Raises:
        TypeError: If that is no code.
    """

    success: ClassVar[Status]
    __members__: ClassVar[dict[str, Status]]

    def __init__(self, value: SupportsInt) -> None:
        if not hasattr(value, "__int__") or int(value) < 0:
            raise TypeError(f"__init__(): incompatible constructor arguments. Invoked with: {value!r}")
        self.value = int(value)

    @property
    def name(self) -> str:
        """``"success"``; the binding names no other code."""
        return "success" if self.value == 0 else "???"

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
Status.__members__ = {"success": Status.success}
