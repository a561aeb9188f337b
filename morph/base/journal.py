"""A record of every rebinding, so that all of them can be undone, and of those that were skipped."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from morph.base.announcement import report

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

    Attributes:
        skipped: The reason why each change was skipped that what is installed has no place for.
    """

    def __init__(self) -> None:
        self.skipped: dict[str, str] = {}
        self._undo: list[Callable[[], object]] = []

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        """Bind ``owner.name`` to ``value``; undoing restores what ``owner`` itself held, if anything."""
        self.on_undo(_attribute_restorer(owner, name))
        setattr(owner, name, value)

    def set_item(self, mapping: MutableMapping[Any, Any], key: Any, value: Any) -> None:
        """Bind ``mapping[key]`` to ``value``."""
        previous = mapping.get(key, _ABSENT)
        if previous is _ABSENT:
            self.on_undo(lambda: mapping.pop(key, None))
        else:
            self.on_undo(lambda: mapping.__setitem__(key, previous))
        mapping[key] = value

    def delete_item(self, mapping: MutableMapping[Any, Any], key: Any) -> None:
        """Remove ``mapping[key]``.

        Raises:
            KeyError: If there is no such key.
        """
        previous = mapping[key]
        self.on_undo(lambda: mapping.__setitem__(key, previous))
        del mapping[key]

    def on_undo(self, callback: Callable[[], object]) -> None:
        """Call ``callback`` when the journal is undone."""
        self._undo.append(callback)

    @contextlib.contextmanager
    def tolerating(self, change: str) -> Iterator[None]:
        """Skip the block, and undo what it did, if it raises.

        What torch or the vendor lacks is only recorded, since a release may lack many names that nobody uses;
        any other error is said in a line.

        Args:
            change: What the block changes: its key in ``skipped``.
        """
        mark = len(self._undo)
        try:
            yield
        except Exception as error:  # `import torch` must survive whatever a misfit raises
            self._undo_to(mark)
            self.skipped[change] = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            if not isinstance(error, (AttributeError, LookupError, ImportError)):
                report(f"{change} is not served: {self.skipped[change]}")

    def undo(self) -> None:
        """Undo everything, newest first; an error in one step does not stop the others.

        Raises:
            ExceptionGroup: If steps failed, after all were tried.
        """
        self._undo_to(0)

    def _undo_to(self, mark: int) -> None:
        errors: list[Exception] = []
        while len(self._undo) > mark:
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
