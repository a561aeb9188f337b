# don't import any costly modules: an interpreter under morph reaches this one at its first import
"""Installs the finders that wait for torch, at an interpreter's first import outside Python's library."""

from __future__ import annotations

import _thread
import sys

import morph
from morph.base.importing import own_imports, take_away

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

SWITCH = morph.SWITCH
_beginning: set[int] = set()  # the threads that are importing the finders now


def find_spec(fullname: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    """Install the finders, and return the module's spec as they and all others give it."""
    if _thread.get_ident() in _beginning:
        return None
    _begin()
    for finder in list(sys.meta_path):
        spec = finder.find_spec(fullname, path, target) if hasattr(finder, "find_spec") else None
        if spec is not None:
            return spec
    return None


def find_distributions(context: Any) -> Iterable[Any]:
    """Install the finders, and return the served packages' distributions."""
    if not _begin():
        return ()
    from morph.finders.packages.finder import packages

    return packages.find_distributions(context)


def _begin() -> bool:
    """Replace the module ``morph`` on ``sys.meta_path`` by the finders, and return whether that worked."""
    _beginning.add(_thread.get_ident())
    try:
        with own_imports:
            from morph.running.startup import waiting

            waiting.begin(required=morph.is_required)
    except Exception as error:  # the program's import goes on whatever error morph has
        from morph.base.announcement import say_inactive

        say_inactive(error)
        return False
    finally:
        _beginning.discard(_thread.get_ident())
        take_away(morph)
    return True
