"""From the command line to the running program: the backend, the child processes, and the program itself."""

from __future__ import annotations

import os
import sys

from morph import activation
from morph.errors import AbsentBackendError, ActivationError, TableError, UnknownBackendError
from morph.launcher import candidates, children, startup
from morph.launcher.command import Options
from morph.launcher.program import Program

START_ERRORS = ActivationError, UnknownBackendError, AbsentBackendError, TableError
"""What is mended on the command line; any other error of ours belongs to the program's line it is from."""


def run(options: Options, program: Program) -> None:
    """Run ``program`` under morph.

    Raises:
        SystemExit: With status 2 if morph cannot start, after one line on standard error; else as the program
            ends itself.
    """
    _drop_own_path()
    startup.withdraw()
    try:
        children.inherit(os.environ, options, program)
        literals = candidates.literals()
        activation.arm(options.rehearse or options.backend, simulated=options.rehearse is not None)
        program.run(literals)
    except START_ERRORS as error:
        activation.report(str(error))
        raise SystemExit(2) from None


def _drop_own_path() -> None:
    """Forget the folder that ``python -m`` and the console script put on the path for morph itself."""
    if not sys.flags.safe_path:
        del sys.path[0]
