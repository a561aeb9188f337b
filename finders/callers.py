# don't import any costly modules: an interpreter under morph reaches this one at its first import
"""On whose behalf code runs: the nearest caller that is not of Python's own library."""

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
    """Tell whether ``frame`` runs ``from module import name``, where an AttributeError loses its text."""
    if frame is None or frame.f_lasti < 0:
        return False
    from opcode import opmap

    return frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]


def caller(frame: FrameType | None) -> str:
    """Return the name of the module that has code run in ``frame``.

    Code that ``exec`` runs without a name, and Python's own library, ask for whoever calls them. Where there
    is nobody (in a thread of a pool, in a thread that C has started, at exit) it is the program.

    Args:
        frame: The innermost frame; None where C calls without one.
    """
    while frame is not None:
        name = module_of(frame)
        if name and name.partition(".")[0] not in sys.stdlib_module_names:
            return name
        frame = frame.f_back
    return PROGRAM
