# don't import any costly modules: an interpreter under morph reaches this one at its first import
"""Finds the caller on whose behalf code runs: the nearest one outside Python's standard library."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

PROGRAM = "__main__"


def module_of(frame: FrameType) -> str:
    """Return the name of the module whose code runs in ``frame``; empty for code without one."""
    name = frame.f_globals.get("__name__", "")
    return name if isinstance(name, str) else ""


def imports_from(frame: FrameType | None) -> bool:
    """Return whether ``frame`` runs ``from module import name``, which loses an AttributeError's message."""
    if frame is None or frame.f_lasti < 0:
        return False
    from opcode import opmap

    return frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]


def caller(frame: FrameType | None) -> str:
    """Return the name of the module on whose behalf ``frame`` runs.

    Unnamed code run by ``exec`` and Python's standard library act for their callers. Without a caller (in a
    pool's thread, in a thread started by C, at exit) the result is the program.

    Args:
        frame: The innermost frame; None if C calls without a frame.
    """
    while frame is not None:
        name = module_of(frame)
        if name and name.partition(".")[0] not in sys.stdlib_module_names:
            return name
        frame = frame.f_back
    return PROGRAM
