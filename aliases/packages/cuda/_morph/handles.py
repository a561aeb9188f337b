"""What stands for streams, events and the like: numbers with a type."""

from __future__ import annotations

import ctypes
from typing import Any

BYTES = 64  # of a handle for another process


class Handle:
    """A number that stands for something of CUDA's."""

    def __init__(self, init_value: Any = 0) -> None:
        self._value = int(init_value)

    def __int__(self) -> int:
        return self._value

    __index__ = __int__

    def getPtr(self) -> int:
        """Return the address of the number."""
        self._place = ctypes.c_uint64(self._value)
        return ctypes.addressof(self._place)

    def __eq__(self, other: object) -> bool:
        return int(other) == self._value if isinstance(other, (Handle, int)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        number = type(self).__name__ in ("CUdevice", "CUdeviceptr")  # numbers in C, the others are addresses
        return f"<{type(self).__name__} {self._value if number else hex(self._value)}>"


class Reserved:
    """The bytes that let another process open memory or an event."""

    def __init__(self) -> None:
        self._block = (ctypes.c_ubyte * BYTES)()

    @classmethod
    def of(cls, block: Any) -> Reserved:
        """Return the handle with the bytes of a block of the library's."""
        made = cls()
        made.reserved = bytes(block.reserved)
        return made

    @property
    def reserved(self) -> bytes:
        """The bytes."""
        return bytes(self._block)

    @reserved.setter
    def reserved(self, value: Any) -> None:
        self._block[:] = list(bytes(value).ljust(BYTES, b"\0"))

    def getPtr(self) -> int:
        """Return the address of the bytes."""
        return ctypes.addressof(self._block)


class Uuid:
    """CUuuid."""

    def __init__(self, value: bytes = bytes(16)) -> None:
        self.bytes = value


def handle(name: str, module: str) -> type[Handle]:
    """Make a type of handles."""
    return type(name, (Handle,), {"__module__": module, "__doc__": f"{name} of CUDA."})


def reserved(name: str, module: str) -> type[Reserved]:
    """Make a type of handles for other processes."""
    return type(name, (Reserved,), {"__module__": module, "__doc__": f"{name} of CUDA."})


def address(value: Any) -> int:
    """Return the address that a program passes: a number, a handle, or an object with a buffer."""
    if value is None:
        return 0
    if hasattr(value, "getPtr") and not hasattr(value, "__int__"):
        return int(value.getPtr())
    if hasattr(value, "__int__") and not _has_buffer(value):
        return int(value)
    buffer = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(value), ctypes.byref(buffer), 0)
    place = int(buffer.buf or 0)
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    return place


def _has_buffer(value: Any) -> bool:
    """Return whether an object has memory of its own, as an array has, which may look like a number too."""
    return bool(ctypes.pythonapi.PyObject_CheckBuffer(ctypes.py_object(value)))


class _Buffer(ctypes.Structure):
    """Python's ``Py_buffer``, whose first field is the address."""

    _fields_ = [("buf", ctypes.c_void_p), ("others", ctypes.c_ssize_t * 16)]
