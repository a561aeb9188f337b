# don't import any costly modules: an interpreter under morph reaches this one at its first import
"""Finds the caller on whose behalf code runs: the nearest one outside Python's standard library."""

from __future__ import annotations

import os
import sys

import morph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

PROGRAM = "__main__"
_CO_NEWLOCALS = 2  # inspect's
# of morph's own code, the served packages' included
OWN_FOLDERS = (
    os.path.join(morph.__path__[0], ""),
    *(os.path.join(morph.__path__[-1], name, "") for name in ("aliases", "finders")),
)


def module_of(frame: FrameType) -> str:
    """Return the name of the module whose code runs in ``frame``; empty for code without one."""
    name = frame.f_globals.get("__name__", "")
    return name if isinstance(name, str) else ""


def acts_for_caller(module: str) -> bool:
    """Return whether the code of a module acts for its caller: code without a name, and Python's own."""
    return not module or module.partition(".")[0] in sys.stdlib_module_names


def imports_from(frame: FrameType | None) -> bool:
    """Return whether ``frame`` runs ``from module import name``, which loses an AttributeError's message."""
    if frame is None or frame.f_lasti < 0:
        return False
    from opcode import opmap

    return frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]


def defines_with(frame: FrameType | None) -> bool:
    """Return whether a file's definitions name it, as in annotations: ``def f(g: torch.cuda.CUDAGraph)``."""
    if frame is None or frame.f_lasti < 0 or frame.f_code.co_filename.startswith("<"):
        return False
    from opcode import opmap

    is_of_function = frame.f_code.co_flags & _CO_NEWLOCALS
    return not is_of_function and frame.f_code.co_code[frame.f_lasti] == opmap["LOAD_ATTR"]


def caller(frame: FrameType | None) -> str:
    """Return the name of the module on whose behalf ``frame`` runs.

    Unnamed code run by ``exec`` and Python's standard library act for their callers. Without a caller (in a
    pool's thread, in a thread started by C, at exit) the result is the program.

    Args:
        frame: The innermost frame; None if C calls without a frame.
    """
    while frame is not None:
        name = module_of(frame)
        if not acts_for_caller(name):
            return name
        frame = frame.f_back
    return PROGRAM
