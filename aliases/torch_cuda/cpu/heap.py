"""The C library's heap, which is the CPU's caching allocator: torch's CPU allocator takes all memory from it.

With glibc the figures are those of ``mallinfo2``: exact, and moved by every tensor. Elsewhere, and under
another ``malloc``, they are the process's resident memory.
"""

from __future__ import annotations

import ctypes
import functools
import pathlib
import re
from dataclasses import dataclass

import psutil

_PROBE = 1 << 22


class _Mallinfo(ctypes.Structure):
    """glibc's ``struct mallinfo2``, in bytes."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


@dataclass(frozen=True)
class Usage:
    """What the process holds, in bytes.

    Attributes:
        allocated: Handed out and not yet given back.
        reserved: Taken from the system, in use or not.
    """

    allocated: int
    reserved: int


def usage() -> Usage:
    """Return what the process holds now."""
    library = glibc()
    if library is None:
        resident: int = psutil.Process().memory_info().rss
        return Usage(resident, resident)
    heap = library.mallinfo2()
    return Usage(heap.uordblks + heap.hblkhd, heap.arena + heap.hblkhd)


def release() -> None:
    """Give memory that is not in use back to the system."""
    library = glibc()
    if library is not None:
        library.malloc_trim(0)


def highest_resident() -> int:
    """Return the most memory that was resident at once since ``forget_highest_resident``, in bytes."""
    status = _status()
    found = re.search(r"^VmHWM:\s*(\d+) kB$", status.read_text(), re.MULTILINE) if status.exists() else None
    return int(found[1]) << 10 if found else int(psutil.Process().memory_info().rss)


def forget_highest_resident() -> None:
    """Begin ``highest_resident`` anew, where the system can (Linux)."""
    # 5 resets the high-water mark and nothing else: proc(5)
    if _status().exists():
        pathlib.Path("/proc/self/clear_refs").write_text("5")


@functools.cache
def glibc() -> ctypes.CDLL | None:
    """Return the C library if it is a glibc whose own ``malloc`` is in use."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        return None
    library.mallinfo2.restype = _Mallinfo
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.free.restype, library.free.argtypes = None, [ctypes.c_void_p]
    library.malloc_trim.argtypes = [ctypes.c_size_t]
    return library if _counts(library) else None


def _counts(library: ctypes.CDLL) -> bool:
    before = library.mallinfo2()
    probe = library.malloc(_PROBE)
    after = library.mallinfo2()
    library.free(probe)
    grown: int = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd
    return grown >= _PROBE


def _status() -> pathlib.Path:
    return pathlib.Path("/proc/self/status")
