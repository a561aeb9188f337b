"""The time of an event that several processes see, in memory that they share."""

from __future__ import annotations

import mmap
import os
import struct
import weakref

import torch

_HANDLE, _TIME = struct.Struct("=qq48x"), struct.Struct("=q")  # a handle is as long as cudaIpcEventHandle_t


class SharedTime:
    """When an event is reached, by the host's clock, which all processes share.

    Args:
        handle: What :attr:`handle` is in the process that made the event.

    Raises:
        RuntimeError: If the handle is too short or too long.
        torch.AcceleratorError: If that process has ended, or has no such event any more.
    """

    def __init__(self, handle: bytes) -> None:
        if len(handle) != _HANDLE.size:
            raise RuntimeError(
                f"cudaIpcEventHandle expects byte-string of {_HANDLE.size} bytes, got {len(handle)}"
            )
        self.handle = handle
        process, file = _HANDLE.unpack(handle)
        try:
            opened = os.open(f"/proc/{process}/fd/{file}", os.O_RDWR)
        except OSError as error:
            raise torch.AcceleratorError("CUDA error: invalid resource handle") from error
        self._memory = mmap.mmap(opened, _TIME.size)
        os.close(opened)

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
