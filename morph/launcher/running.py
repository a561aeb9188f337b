"""From the command line to the running program: the backend, the child processes, and the program itself."""

from __future__ import annotations

import atexit
import os
from typing import TYPE_CHECKING

from morph import activation, announcement
from morph.aliases import table
from morph.errors import MorphError
from morph.finders.scope import Scope
from morph.launcher import children, startup
from morph.launcher.command import Options
from morph.launcher.program import Program

if TYPE_CHECKING:
    from morph.aliases.table import Table
    from morph.simulator import Rehearsal


def run(options: Options, program: Program) -> None:
    """Run ``program`` under morph.

    Raises:
        SystemExit: With status 2 if morph cannot start, after one line on standard error; else as the program
            ends itself.
    """
    startup.withdraw()
    try:
        children.inherit(os.environ, options, Scope())
        literals = startup.literals_of("__main__")
        _arm(options, Scope())
        program.run(literals)
    except MorphError as error:
        if activation.status().active:  # it belongs to the line of the program that it came from
            raise
        announcement.report(str(error))
        raise SystemExit(2) from None


def _arm(options: Options, scope: Scope) -> None:
    if options.rehearse is None:
        activation.arm(options.backend, scope=scope)
        return
    from morph import simulator

    rehearsal = simulator.Rehearsal()
    activation.arm(options.rehearse, simulated=True, observer=rehearsal, scope=scope)
    atexit.register(_report, rehearsal, table.load(options.rehearse))


def _report(rehearsal: Rehearsal, table: Table) -> None:
    from morph import simulator

    if activation.status().active:
        simulator.report(rehearsal, table)
