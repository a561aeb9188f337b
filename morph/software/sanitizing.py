"""What the program did that a sanitizer tells of: the lines that took memory, or queued work."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import torch

import morph
from morph.software import histories
from morph.software.machine import started

OTHERS = tuple(f"{pathlib.Path(str(package.__file__)).parent}{os.sep}" for package in (torch, morph))


def remember_allocations() -> None:
    """Record from now on where device memory is taken."""
    histories.record_history("state", "alloc", "python", 1)


def watch_order() -> None:
    """Raise from now on where work, or the host, uses memory without a wait for its earlier use."""
    started().native.watch_order([*OTHERS, "<"])


def origin(address: int) -> str:
    """Return the line that took a block of device memory, ``"train.py:12"``; empty if that is not known.

    Args:
        address: Where the block starts.
    """
    frames: list[dict[str, Any]] = started().native.allocation_frames(address) or []
    for frame in frames:
        file = frame["filename"]
        if not file.startswith((*OTHERS, "<frozen ")):
            return f"{os.path.basename(file)}:{frame['line']}"
    return ""
