"""The modules of torch that hold a function of another one, by ``from ... import``."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

_modules: list[ModuleType] = []  # torch's, in the order in which they were first seen
_names: set[str] = set()
_looked_at: dict[str, int] = {}  # by attribute: their number
_having: dict[str, list[ModuleType]] = {}  # by attribute: those that had something under that name
_imported: tuple[int, str] = 0, ""  # the number of modules, and the last of them


def holders(owner: Any, attribute: str, value: object) -> list[Any]:
    """Return the holders of ``value`` under the name: ``owner``, and torch's modules if it is a module.

    A module is searched once for a name, since this runs at each activation and deactivation.
    """
    candidates = [owner]
    if isinstance(owner, ModuleType):
        _see_new_modules()
        candidates += (module for module in _candidates(attribute) if module is not owner)
    return [holder for holder in candidates if vars(holder).get(attribute) is value]


def _candidates(attribute: str) -> list[ModuleType]:
    found = _having.setdefault(attribute, [])
    seen = _looked_at.get(attribute, 0)
    new = _modules[seen:]
    found += (module for module in new if attribute in vars(module))
    _looked_at[attribute] = seen + len(new)
    return found


def _see_new_modules() -> None:
    global _imported
    imported = len(sys.modules), next(reversed(sys.modules))
    if imported == _imported:
        return
    _imported = imported
    for name, module in list(sys.modules.items()):
        if name not in _names and f"{name}.".startswith("torch.") and type(module) is ModuleType:
            _names.add(name)
            _modules.append(module)
