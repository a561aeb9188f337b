"""A record of every rebinding, so that all of them can be undone."""

from __future__ import annotations

import sys
from collections.abc import Callable, MutableMapping
from typing import Any

if sys.version_info < (3, 11):
    from exceptiongroup import ExceptionGroup

_ABSENT = object()


class Journal:
    """Rebinds attributes and items, and puts every one back by identity.

    >>> import types
    >>> module, journal = types.SimpleNamespace(name="old"), Journal()
    >>> journal.set_attribute(module, "name", "new")
    >>> journal.undo()
    >>> module.name
    'old'
    """

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        """Bind ``owner.name`` to ``value``; undoing restores what ``owner`` itself held, if anything."""
        self.on_undo(_attribute_restorer(owner, name))
        setattr(owner, name, value)

    def delete_attribute(self, owner: Any, name: str) -> None:
        """Remove ``owner.name``.

        Raises:
            AttributeError: If ``owner`` itself does not hold the name.
        """
        self.on_undo(_attribute_restorer(owner, name))
        delattr(owner, name)

    def set_item(self, mapping: MutableMapping[Any, Any], key: Any, value: Any) -> None:
        """Bind ``mapping[key]`` to ``value``."""
        previous = mapping.get(key, _ABSENT)
        if previous is _ABSENT:
            self.on_undo(lambda: mapping.pop(key, None))
        else:
            self.on_undo(lambda: mapping.__setitem__(key, previous))
        mapping[key] = value

    def on_undo(self, callback: Callable[[], object]) -> None:
        """Call ``callback`` when the journal is undone."""
        self._undo.append(callback)

    def undo(self) -> None:
        """Undo everything, newest first; an error in one step does not stop the others.

        Raises:
            ExceptionGroup: If steps failed, after all were tried.
        """
        errors: list[Exception] = []
        while self._undo:
            try:
                self._undo.pop()()
            except Exception as error:
                errors.append(error)
        if errors:
            raise ExceptionGroup("morph could not undo everything", errors)


def _attribute_restorer(owner: Any, name: str) -> Callable[[], object]:
    previous = vars(owner).get(name, _ABSENT)
    if previous is _ABSENT:
        return lambda: delattr(owner, name) if name in vars(owner) else None
    return lambda: setattr(owner, name, previous)
