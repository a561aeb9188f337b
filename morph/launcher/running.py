"""From the command line to the running program: the backend, the child processes, and the program itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from morph import activation, announcement, configuration, startup
from morph.backends import candidates
from morph.errors import MorphError
from morph.finders.rewriting import rewriter
from morph.finders.scope import Scope
from morph.launcher import children
from morph.launcher.command import ALL, Options
from morph.launcher.program import Program


def run(options: Options, program: Program) -> None:
    """Run ``program`` under morph.

    Raises:
        SystemExit: With status 2 if morph cannot start, after one line on standard error; else as the program
            ends itself.
    """
    startup.withdraw()
    rewriter.uninstall()
    if options.rehearse == ALL:
        from morph.launcher import rehearsing

        raise SystemExit(rehearsing.on_every_vendor(options, program))
    try:
        settings = configuration.effective(program.folder())
        scope = settings.scope.including(program.modules())
        options = replace(options, backend=options.rehearse or options.backend or settings.backend)
        children.inherit(os.environ, options, scope)
        literals = candidates.literals(options.backend, "__main__")
        with _armed(options, scope):
            program.run(literals)
    except MorphError as error:
        if activation.status().active:  # it belongs to the line of the program that it came from
            raise
        announcement.report(str(error))
        raise SystemExit(2) from None


@contextmanager
def _armed(options: Options, scope: Scope) -> Iterator[None]:
    if options.rehearse is None:
        activation.arm(options.backend, scope=scope)
        yield
        return
    from morph.launcher import rehearsing

    with rehearsing.rehearsed(options) as observer:
        activation.arm(options.backend, simulated=True, observer=observer, scope=scope)
        yield
