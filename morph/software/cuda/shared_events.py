"""The time of an event that several processes see, in memory that they share."""

from __future__ import annotations

import mmap
import os
import struct
import weakref

from morph.software.machine import started

_HANDLE, _TIME = struct.Struct("=qq48x"), struct.Struct("=q")  # a handle is as long as cudaIpcEventHandle_t
_OWN, _NOT_MAPPED = 201, 205  # of cudaError_t


def check_handle(handle: bytes) -> None:
    """Check the length of what is given as a handle.

    Raises:
        RuntimeError: If it is too short or too long.
    """
    if len(handle) != _HANDLE.size:
        raise RuntimeError(
            f"cudaIpcEventHandle_t expects byte-like object of size {_HANDLE.size}, but got {len(handle)}"
        )


class SharedTime:
    """When an event is reached, by the host's clock, which all processes share.

    Args:
        handle: What :attr:`handle` is in the process that made the event.

    Raises:
        torch.AcceleratorError: If that process has ended, or has no such event any more.
    """

    def __init__(self, handle: bytes) -> None:
        self.handle = handle
        process, file = _HANDLE.unpack(handle)
        try:
            opened = os.open(f"/proc/{process}/fd/{file}", os.O_RDWR)
        except OSError:
            started().native.refuse(_NOT_MAPPED)
        self._memory = mmap.mmap(opened, _TIME.size)
        os.close(opened)

    @classmethod
    def received(cls, handle: bytes) -> SharedTime:
        """Open the time of an event of another process.

        Raises:
            torch.AcceleratorError: If the event is this process's own.
        """
        if _HANDLE.unpack(handle)[0] == os.getpid():
            started().native.refuse(_OWN)
        return cls(handle)

    @classmethod
    def made(cls) -> SharedTime:
        """Make the memory for a new time."""
        file = os.memfd_create("event")
        os.ftruncate(file, _TIME.size)
        shared = cls(_HANDLE.pack(os.getpid(), file))
        weakref.finalize(shared, os.close, file)
        return shared

    @property
    def value(self) -> int:
        """Nanoseconds."""
        time: int = _TIME.unpack_from(self._memory)[0]
        return time

    @value.setter
    def value(self, time: int) -> None:
        _TIME.pack_into(self._memory, 0, time)
