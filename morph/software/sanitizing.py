"""What the program did that a sanitizer tells of: the lines that took memory, or queued work."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from morph.software import histories, origins, settings
from morph.software.machine import started

# make_graphed_callables warms backward passes up with gradients of torch.empty_like, and uses no result.
_UNFILLED = os.path.join("torch", "cuda", "graphs.py")


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
    origins.pass_over_others()
    started().native.watch_order()


def keep_freed_memory(bytes: int) -> None:
    """Give memory that is freed from now on out again when more than ``bytes`` of a device came after it."""
    origins.pass_over_others()
    started().native.keep_freed(bytes)


def mark_unwritten_memory() -> None:
    """Raise from now on where an operator or a kernel reads memory that nothing was written to."""
    started().native.begin_to_mark_unwritten()


def unwritten(operator: str, address: int) -> str:
    """Return the error of an operator that reads a tensor of which nothing was written; empty if it may.

    Args:
        operator: Its name.
        address: Where the tensor's memory starts.
    """
    frames = started().native.allocation_frames(address) or []
    if frames and frames[0]["filename"].endswith(_UNFILLED):
        return ""
    line = origins.first_of(frames)
    memory = f"a tensor, made at {line}," if line else "a tensor"
    text = (
        "CUDA error: memory is read that nothing was written to (found by MORPH_SANITIZE=init)\n"
        f"  {operator} reads {memory} and nothing of it was written"
    )
    started().native.note_found(settings.INIT, text)
    return text


def origin(address: int) -> str:
    """Return the line that took a block of device memory, ``"train.py:12"``; empty if that is not known.

    Args:
        address: Where the block starts.
    """
    return origins.first_of(started().native.allocation_frames(address) or [])


def lines_of(address: int) -> str:
    """Return the lines that took a block, and gave it back if it is kept; empty if they are not known.

    Args:
        address: Where the block starts.

    Returns:
        ``"made at train.py:12, freed at train.py:20"``.
    """
    made, freed = origin(address), started().native.line_of_free(address)
    return ", ".join([f"made at {made}"] * bool(made) + [f"freed at {freed}"] * bool(freed))
