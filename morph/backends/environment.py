"""CUDA's environment variables, copied to the vendor's whenever they change.

CUDA reads most of its variables at the first use of a device, and NCCL at its first communicator, so that
programs set them after ``import torch``. The vendor reads its own as late: they follow CUDA's at once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from morph.backends import visibility
from morph.backends.tables.table import Table
from morph.backends.tables.variables import Variable
from morph.base import announcement, variables
from morph.base.journal import Journal

Report = Callable[[str], None]


def carry(table: Table, journal: Journal, report: Report, after: Callable[[], object] = lambda: None) -> None:
    """Set the vendor's variables from CUDA's, now and whenever the program changes one of CUDA's.

    A variable of the vendor's that the user has set stays as it is. What morph has set itself is no choice of
    the user's, in children neither: a child's own ``CUDA_VISIBLE_DEVICES`` counts there.

    Args:
        table: The backend's table.
        journal: Records the changes of the environment, which children inherit.
        report: Called with one line that lists the user's settings without a meaning for the vendor.
        after: Called whenever a variable has changed later.
    """
    following = _Following(table, report, after)
    following.begin()
    journal.on_undo(following.end)


class _Following:
    def __init__(self, table: Table, report: Report, after: Callable[[], object]) -> None:
        self._table, self._report, self._after = table, report, after
        self._carried: dict[str, str] = _carried()
        self._said: set[str] = set()
        self._changes, self._hooks = Journal(), Journal()
        self._is_writing = False
        others = table.environment.values()
        self._targets = dict.fromkeys(
            each.target for each in others if each.default or each.target not in ("", each.name)
        )

    def begin(self) -> None:
        self._renew()
        self._report = announcement.report  # what the program sets later is new in every process
        for name in ("__setitem__", "__delitem__"):
            self._hooks.set_attribute(type(os.environ), name, self._noticing(vars(type(os.environ))[name]))

    def end(self) -> None:
        self._hooks.undo()
        self._changes.undo()

    def _noticing(self, original: Callable[..., None]) -> Callable[..., None]:
        names = {visibility.CUDA_VARIABLE, self._table.facts.visible_devices, *self._table.environment}

        def change(environment: Any, name: str, *value: str) -> None:
            original(environment, name, *value)
            if environment is os.environ and name in names and not self._is_writing:
                self._renew()
                self._after()

        change.__name__ = change.__qualname__ = original.__name__
        return change

    def _renew(self) -> None:
        self._is_writing = True
        try:
            self._show_devices()
            self._report_lost(*map(self._trim, self._table.environment.values()))
            for target in self._targets:
                self._set(target, self._value_of(target))
            self._change(variables.CARRIED, json.dumps(self._carried) if self._carried else None)
        finally:
            self._is_writing = False

    def _show_devices(self) -> None:
        own, devices = self._table.facts.visible_devices, os.environ.get(visibility.CUDA_VARIABLE)
        if not own:
            return
        # Ray hides the devices that a worker has not requested by their own name: NPUs if it requested GPUs
        if os.environ.get(own) == "" and devices:
            self._change(own, None)
        value, saying = "", ""
        if devices is not None:
            value, saying = visibility.in_vendors_words(self._table.facts, devices)
        if self._set(own, value) and saying and saying not in self._said:
            self._said.add(saying)
            self._report(saying)

    def _trim(self, variable: Variable) -> str:
        """Take out of a variable of CUDA's what the vendor's allocator refuses; return what has no effect."""
        value = os.environ.get(variable.name)
        if not value:
            return ""
        kept, rest = variable.split(value)
        if variable.settings and kept != value:
            # torch passes CUDA's variable to every device's allocator, which refuses unknown settings
            self._change(variable.name, kept)
        why = f" ({variable.ignored})" if variable.ignored else ""
        return f"{variable.name}={rest}{why}" if rest else ""

    def _report_lost(self, *lost: str) -> None:
        new = [each for each in lost if each and each not in self._said]
        self._said.update(new)
        if new:
            have = "has" if len(new) == 1 else "have"
            self._report(f"{', '.join(new)} {have} no effect on {self._table.facts.title}")

    def _value_of(self, target: str) -> str:
        for variable in self._table.environment.values():
            if variable.default and variable.target == target:
                return variable.default
            value = os.environ.get(variable.name)
            if variable.target == target and value and variable.unless not in os.environ:
                kept = variable.split(value)[0]
                if kept:
                    return kept
        return ""

    def _set(self, target: str, value: str) -> bool:
        """Set a variable of the vendor's, unless the user has; return whether it is morph's to set."""
        if os.environ.get(target) != self._carried.get(target):
            return False
        if value:
            self._carried[target] = value
        else:
            self._carried.pop(target, None)
        self._change(target, value or None)
        return True

    def _change(self, name: str, value: str | None) -> None:
        if value == os.environ.get(name):
            return
        if value is None:
            self._changes.delete_item(os.environ, name)
        else:
            self._changes.set_item(os.environ, name, value)


def _carried() -> dict[str, str]:
    """Return what a parent process has set of the vendors' variables, by name."""
    try:
        found = json.loads(variables.read(variables.CARRIED) or "{}")
    except (ValueError, RecursionError):
        return {}
    items = found.items() if isinstance(found, dict) else ()
    return {name: value for name, value in items if isinstance(value, str)}
