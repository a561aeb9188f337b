"""CUDA's environment variables, copied to the vendor's before the vendor reads its own."""

from __future__ import annotations

import os
from collections.abc import Callable

from morph.backends import visibility
from morph.journal import Journal
from morph.tables.table import Table
from morph.tables.variables import Variable


def carry(table: Table, journal: Journal, report: Callable[[str], None]) -> None:
    """Set the vendor's variables from CUDA's, unless the user has set the vendor's.

    Args:
        table: The backend's table.
        journal: Records the changes of the environment, which children inherit.
        report: Called with one line that lists the user's settings without a meaning for the vendor.
    """
    visibility.carry(table.facts, journal, report)
    lost = []
    for variable in table.environment.values():
        value = os.environ.get(variable.name)
        if value:
            kept, rest = variable.split(value)
            _set(variable, value, kept, journal)
            why = f" ({variable.ignored})" if variable.ignored else ""
            lost += [f"{variable.name}={rest}{why}"] if rest else []
    if lost:
        have = "has" if len(lost) == 1 else "have"
        report(f"{', '.join(lost)} {have} no effect on {table.facts.title}")


def _set(variable: Variable, value: str, kept: str, journal: Journal) -> None:
    if variable.settings and kept != value:
        # torch passes CUDA's variable to every device's allocator, which refuses settings it does not know
        journal.set_item(os.environ, variable.name, kept)
    if kept and variable.target not in os.environ and variable.unless not in os.environ:
        journal.set_item(os.environ, variable.target, kept)
