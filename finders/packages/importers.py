# don't import any costly modules: a start-up file reaches this one
"""Identifies the importing code, and decides whether packages are served to it."""

from __future__ import annotations

import sys

from morph.finders.callers import caller, module_of
from morph.finders.scope import LEFT_ALONE, OPTED_IN, TORCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from types import FrameType

    from morph.finders.scope import Policy, Scope

_IMPORT_SYSTEM = (
    "importlib",
    "_frozen_importlib",
    "morph.finders",
    "morph.running.launcher",
    "morph.running.startup",
)


def is_stranger(frame: FrameType, name: str, package: str, scope: Scope, served: Container[str]) -> bool:
    """Return whether nothing is served to the importing code: it has not opted in, or belongs to torch.

    torch and the vendors' packages get the served packages that a program makes them import (to unpickle, to
    trace, to run a module), but none that their own code imports by name.

    Args:
        frame: The frame that called the finder.
        name: The imported top-level name.
        package: The package that it belongs to.
        scope: The code that has opted in.
        served: The top-level names of the served packages, which may import each other.
    """
    asking = _importer(frame)
    if asking is None:
        return False
    module = module_of(asking)
    root = module.partition(".")[0]
    if _is_served_to_torch(module, name):
        return False
    if root in TORCH or root in _vendors():
        return _names(asking, name)
    if root in served:
        return False
    return not scope.policy(caller(asking)).serves(package)


def _is_served_to_torch(module: str, name: str) -> bool:
    """Return whether torch.cuda, or morph's code behind it, imports pynvml for the software device."""
    backends = sys.modules.get("morph.backends")
    backend = backends.active() if backends is not None else None
    if name != "pynvml" or backend is None or not backend.table.facts.software:
        return False
    return f"{module}.".startswith(("torch.cuda.", "morph.software."))


def policy_of_caller(frame: FrameType, scope: Scope, served: Container[str]) -> Policy:
    """Return the policy for the code that reads distribution metadata; morph itself is left alone.

    Args:
        frame: The frame that called the finder.
        scope: The code that has opted in.
        served: The top-level names of the served packages, which may read each other's metadata.
    """
    asking = _importer(frame)
    module = caller(asking)
    root = module.partition(".")[0]
    if root == "morph":  # may be reading the metadata from which the scope is built
        return LEFT_ALONE
    return OPTED_IN if root in served else scope.policy(module)


def is_import(frame: FrameType) -> bool:
    """Return whether an import called the finder from ``frame``, not ``importlib.util.find_spec``."""
    outer = frame.f_back
    return outer is not None and outer.f_code.co_name.startswith("_find_and_load")


def _importer(frame: FrameType | None) -> FrameType | None:
    """Return the frame that called the import system."""
    while frame is not None and (module_of(frame) == "morph" or module_of(frame).startswith(_IMPORT_SYSTEM)):
        frame = frame.f_back
    return frame


def _names(frame: FrameType, name: str) -> bool:
    literals = (*frame.f_code.co_names, *frame.f_code.co_consts)
    return any(isinstance(each, str) and each.partition(".")[0] == name for each in literals)


def _vendors() -> Container[str]:
    table = sys.modules.get("morph.backends.tables.table")
    if "torch" not in sys.modules or table is None:  # no vendor's package is imported yet
        return ()
    return {table.facts(name).vendor for name in table.backend_names()}
