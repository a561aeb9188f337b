# don't import any costly modules: a start-up file reaches this one
"""Finds the top-level module that a file belongs to, however it is loaded."""

from __future__ import annotations

import os
import sys
from importlib.machinery import SOURCE_SUFFIXES

import morph
from morph.finders.callers import PROGRAM, caller
from morph.finders.scope import TORCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

_FINDERS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OWN = tuple(
    os.path.join(folder, "")
    for folder in (
        os.path.dirname(os.path.abspath(morph.__file__)),
        _FINDERS,
        os.path.join(os.path.dirname(_FINDERS), "aliases"),
    )
)
_PYTHON = os.path.join(os.path.dirname(os.path.abspath(os.__file__)), "")
_INSTALLED = ("site-packages", "dist-packages")
_RUNNERS = frozenset({"IPython", "ipykernel", "_pytest", "xdoctest", "sybil"})  # they run the user's cells


def owner_of(path: str) -> str | None:
    """Return the name of the top-level module that the file at ``path`` belongs to.

    Returns:
        The name; empty for files of Python or morph; None if there is no such file.
    """
    if path.startswith("<"):
        return None
    path = os.path.abspath(path)
    folders = {os.path.join(os.path.abspath(entry), "") for entry in sys.path if isinstance(entry, str)}
    if path.startswith(_OWN) or _is_python_s(path, folders):
        return ""
    around = max((folder for folder in folders if path.startswith(folder)), key=len, default=None)
    if around is not None:
        return _module(path[len(around) :].partition(os.sep)[0])
    return _outermost(path) if os.path.isfile(path) else _member(path)


def is_never_rewritten(path: str, package: str) -> bool:
    """Return quickly whether a file belongs to Python or torch, as most files do.

    Args:
        path: The file.
        package: The top-level module as part of which it is loaded.
    """
    if package in TORCH:
        return f"-packages{os.sep}{package}{os.sep}" in path
    return path.startswith(_PYTHON) and "-packages" not in path


def owner_of_text(frame: FrameType | None) -> str:
    """Return the name of the module on whose behalf ``frame`` compiles text that is not in a file."""
    name = caller(frame)
    return PROGRAM if name.partition(".")[0] in _RUNNERS else name


def _is_python_s(path: str, folders: set[str]) -> bool:
    if not path.startswith(_PYTHON):
        return False
    rest = path[len(_PYTHON) :]
    return rest.partition(os.sep)[0] not in _INSTALLED


def _outermost(path: str) -> str:
    """Return the outermost package of the file, or the module that it is."""
    folder, name = os.path.split(path)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
    return _module(name)


def _member(path: str) -> str | None:
    """Return the outermost module of a file in a zip file; None if there is no such zip file."""
    archive = path
    while not os.path.exists(archive):
        archive = os.path.dirname(archive)
    return _module(path[len(archive) + 1 :].partition(os.sep)[0]) if os.path.isfile(archive) else None


def _module(name: str) -> str:
    return next((name[: -len(each)] for each in SOURCE_SUFFIXES if name.endswith(each)), name)
