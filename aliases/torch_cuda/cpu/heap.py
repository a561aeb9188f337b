"""The C library's heap, from which torch's allocator takes host memory, and what the heap keeps for later."""

from __future__ import annotations

import ctypes
import functools


class _Mallinfo(ctypes.Structure):
    """glibc's ``struct mallinfo2``, in bytes."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


def kept() -> int:
    """Return how many bytes the heap holds that nobody uses; 0 where the C library is not glibc."""
    library = _glibc()
    return library.mallinfo2().fordblks if library else 0


def release() -> None:
    """Give memory that nobody uses back to the system, where the C library is glibc."""
    library = _glibc()
    if library:
        library.malloc_trim(0)


@functools.cache
def _glibc() -> ctypes.CDLL | None:
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        return None
    library.mallinfo2.restype = _Mallinfo
    library.malloc_trim.argtypes = [ctypes.c_size_t]
    return library
