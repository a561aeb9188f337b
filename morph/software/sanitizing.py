"""What the program did that a sanitizer tells of: the lines that took memory, or queued work."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from morph.software import histories, origins, settings
from morph.software.machine import started


def remember_allocations() -> None:
    """Record from now on where device memory is taken."""
    histories.record_history("state", "alloc", "python", 1)


def hide_memory() -> None:
    """Keep device memory from the host from now on: an access is an error, which names the memory."""
    started().native.hide_memory()


@contextlib.contextmanager
def device_access() -> Iterator[None]:
    """Let code that stands for the device use its memory by the addresses that programs know."""
    native = started().native
    native.begin_device_access()
    try:
        yield
    finally:
        native.end_device_access()


def host_access() -> str:
    """Return the error of the last access of the host to device memory."""
    access = started().native.last_host_access()
    place = f"in memory of cuda:{access['device']} that nothing has"
    if access["is_live"]:
        line = origins.first_of(access["frames"] or [])
        block = f"an allocation of {access['bytes']} bytes on cuda:{access['device']}"
        place = f"{access['offset']} bytes into {block}" + f", made at {line}" * bool(line)
    text = f"CUDA error: the host uses device memory (found by MORPH_SANITIZE=host)\n  {place}"
    started().native.note_found(settings.HOST, text)
    return text


def watch_order() -> None:
    """Raise from now on where work, or the host, uses memory without a wait for its earlier use."""
    started().native.watch_order([*origins.OTHERS, "<"])


def origin(address: int) -> str:
    """Return the line that took a block of device memory, ``"train.py:12"``; empty if that is not known.

    Args:
        address: Where the block starts.
    """
    return origins.first_of(started().native.allocation_frames(address) or [])
